# SPDX-License-Identifier: Apache-2.0
"""The plan of a run: launches, the rounds of each, and their cost."""

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

import msgspec
import numpy as np
import scipy

from nearpeak.arrays import Indices
from nearpeak.errors import UserError
from nearpeak.grouping import grouped
from nearpeak.nodes import rounds
from nearpeak.nodes.rounds import Round
from nearpeak.nodes.topology import NONE, Level, plural
from nearpeak.numbers import count, in_short, listed
from nearpeak.statistics.levels import ERROR_RATE
from nearpeak.terms.buffers import HOST
from nearpeak.terms.private import FreeText, HostName, Public
from nearpeak.terms.sizes import format_seconds

Stage = Literal["whole", "survey", "sift", "again"]
LEAST_NODES = 3
LEAST_WITH_GPUS = 2  # of which each rail is compared with the others
# With more nodes, measuring each pair alone would take long. Then one launch measures all pairs
# (survey), a second one those that look slow in it (sift), and the others those that look slow in
# both (again). 64 nodes have 2016 pairs.
MOST_WHOLE = 64
# Of a survey, unless more rounds are asked for: those of all pairs of 4096 nodes. All nodes wait
# while they are judged.
MOST_VALUES = 1 << 23
LAUNCHES, LEAST_LAUNCHES = 5, 4
SLOT_MS, SMALL, LARGE, WINDOW = 10.0, 8, 1 << 20, 16
LAUNCH_LIMIT_SECONDS = 120.0
# A launch repeats the rounds of few nodes, so that each node has about as many values; three nodes
# are not judged.
VALUES = 48
# Of a launch that measures suspects: rounds in addition to the most suspects of a node, so that
# each node also has other pairs; and how often each is measured: two disturbed values of five do no
# harm.
AGAIN_ROUNDS, REPEATED = 6, 5
CONTROLS = 256  # pairs measured again with the suspects: they show the scatter of launches
ALONE_AGAIN = 256  # suspects that are measured alone, and as many controls
# What is found: this share of losses of that size, if values scatter as launches of the recorded
# studies do (benchmarks/scale.py).
FOUND, SCATTER = 0.9, 0.06
# Times as long: smaller excesses do not count as slow. All pairs of a node tell of it, of a link
# only one.
NODE_MARGIN, MARGIN = 1.05, 1.1
# Values of each GPU in a launch, of messages within its node.
VALUES_INSIDE = 8
# Standard deviations of these: so few values scatter as far as the margin, and a launch counts
# against a GPU only if it is beyond most others.
BEYOND = 1.96
# Guesses for the estimate. A round: its buffers and their first use. A launch: its start, and that
# of each rank.
ROUND_SECONDS, GPU_ROUND_SECONDS = 0.02, 0.06
LAUNCH_SECONDS, LAUNCH_SECONDS_OF_A_RANK = 2.0, 0.005


class Rail(msgspec.Struct, kw_only=True, frozen=True):
    """A GPU of each node, and its adapter."""

    gpu: Public  # number of the GPU for a rank
    adapter: FreeText = ""  # the adapter to force, as UCX names it; empty: the library's choice


class Chosen(msgspec.Struct, kw_only=True, frozen=True):
    """The options of a run."""

    nodes: list[HostName]  # names of hosts, in the order of the ranks; "": unknown, in a plan only
    mpi: FreeText  # the library and its settings, as given
    launches: int = LAUNCHES
    rounds: int | None = None  # of the survey; None: every pair once
    slot_ms: float = SLOT_MS  # for latency, and for bandwidth, in a round
    small_bytes: int = SMALL
    large_bytes: int = LARGE
    window: int = WINDOW
    seed: int = 0
    launch_limit_seconds: float = LAUNCH_LIMIT_SECONDS  # of a launch without a round
    remote_shell: FreeText | None = None
    levels: list[Level] = []  # groups of nodes, the smallest first; empty: none are known
    levels_from: Public = ""  # what knew them
    require: list[FreeText] = []  # what the usual pair must reach (required.py)
    # buffers of both ends of a pair; with two different ones, each end has both in turn
    buffers: Public = HOST
    rails: list[Rail] = []  # GPUs with a rank each, the same on all nodes; empty: a rank on the CPU

    @property
    def per_node(self) -> int:
        """The ranks of each node."""
        return max(len(self.rails), 1)

    @property
    def least_nodes(self) -> int:
        """The least number of nodes."""
        return LEAST_WITH_GPUS if self.rails else LEAST_NODES


class Measures(msgspec.Struct, kw_only=True, frozen=True):
    """The rounds of a launch."""

    stage: Stage
    together: int  # rounds of pairs at the same time, which come first
    alone: int  # pairs, each in a round of its own
    # rounds within each node, all nodes at the same time: between GPUs, and between host and GPU
    inside: int = 0
    host: int = 0

    @property
    def rounds(self) -> int:
        """All of its rounds."""
        return self.inside + self.host + self.together + self.alone


class Finds(NamedTuple):
    """The smallest losses that most runs find: times as long."""

    node: float  # or a NIC of it
    link: float
    gpu: float | None  # within its node; None: nodes have one or none


class Cost(NamedTuple):
    """The cost of a plan."""

    pairs: int  # that are measured, each counted once
    seconds: float
    node_hours: float


def check(chosen: Chosen) -> None:
    """Raises UserError for options that cannot be measured or judged."""
    number, least = len(chosen.nodes), chosen.least_nodes
    if number < least:
        between_two = "; between two, `nearpeak study` measures" if least == LEAST_NODES else ""
        raise UserError(
            f"{count(number, 'node')}: it takes {least} or more, by --hosts a,b,c, of a job,"
            f" or by --nodes {least} of its script{between_two}"
        )
    if twice := next(
        (node for node in chosen.nodes if node and chosen.nodes.count(node) > 1), None
    ):
        raise UserError(f"--hosts: {twice!r} is named twice")
    if chosen.small_bytes >= chosen.large_bytes:
        raise UserError(
            f"--small {chosen.small_bytes} --large {chosen.large_bytes}: the message of bandwidth"
            " is to be longer than that of latency"
        )
    if chosen.launches < LEAST_LAUNCHES:
        raise UserError(
            f"--launches {chosen.launches}: a slow pair is distinguished from a disturbed launch"
            f" by {LEAST_LAUNCHES} or more"
        )
    if chosen.rounds is not None and chosen.rounds < 1:
        raise UserError("--rounds: give 1 or more, or leave it out for every pair")


def is_whole(chosen: Chosen) -> bool:
    """True if every launch measures every pair, together with others and alone."""
    return len(chosen.nodes) <= MOST_WHOLE and chosen.rounds is None


def has_alone(chosen: Chosen) -> bool:
    """True if every launch also measures every pair alone."""
    return planned(chosen)[0].alone > 0


def planned(chosen: Chosen) -> list[Measures]:
    """Returns the launches, in their order. Launches that measure suspects again have their least
    size, since only the survey shows how many suspects there are."""
    number = len(chosen.nodes)
    every = _rounds_of_all(number)
    inside = repeats_inside(chosen) * _rounds_of_all(chosen.per_node)
    within = {"inside": inside, "host": 2 * inside}
    if is_whole(chosen):
        pairs = 0 if is_one_by_one(number) else math.comb(number, 2)
        often = repeats(chosen)
        whole = Measures(stage="whole", together=often * every, alone=often * pairs, **within)
        return [whole] * chosen.launches
    often_again = REPEATED * AGAIN_ROUNDS
    first = Measures(stage="survey", together=_rounds_of_survey(chosen), alone=0, **within)
    second = Measures(stage="sift", together=2 * AGAIN_ROUNDS, alone=0, **within)
    later = Measures(stage="again", together=often_again, alone=2 * ALONE_AGAIN, **within)
    return [first, second, *itertools.repeat(later, chosen.launches - 2)]


def _rounds_of_all(number: int) -> int:
    """The number of rounds in which each pair of `number` nodes meets once; 0 for a single node."""
    return number - 1 + number % 2 if number > 1 else 0


def _rounds_of_survey(chosen: Chosen) -> int:
    """The number of rounds of a survey: those of all pairs, as far as they can be judged."""
    number = len(chosen.nodes)
    most = MOST_VALUES // max(number // 2 * chosen.per_node, 1)
    return min(chosen.rounds or max(most, 1), _rounds_of_all(number))


def is_one_by_one(number: int) -> bool:
    """True if a round of `number` nodes is a single pair."""
    return number // 2 == 1


def repeats(chosen: Chosen) -> int:
    """Returns how often each launch measures every pair, if it measures them all."""
    number = len(chosen.nodes)
    return 1 if is_one_by_one(number) else max(math.ceil(VALUES / (number - 1)), 1)


def repeats_inside(chosen: Chosen) -> int:
    """Returns how often each launch measures every pair of GPUs of a node."""
    others = chosen.per_node - 1
    return math.ceil(VALUES_INSIDE / others) if others else 0


def finds(chosen: Chosen) -> Finds:
    """Estimates the smallest loss that most runs find: one that is beyond the margin in every
    launch, within nodes also beyond the scatter of others."""
    every_pair = is_whole(chosen)
    launches = len([one for one in planned(chosen) if one.stage in ("whole", "again")])
    of_pair = repeats(chosen) if every_pair else REPEATED
    of_node = of_pair * (len(chosen.nodes) - 1 if every_pair else AGAIN_ROUNDS)
    # Of three GPUs, one is slow if both of its pairs are.
    of_gpu = repeats_inside(chosen) * (1 if chosen.per_node == 3 else chosen.per_node - 1)

    def least(margin: float, values: int, deviations: float) -> float:
        error = (1.2533 if values > 2 else 1.0) * SCATTER / math.sqrt(values)
        return margin * math.exp(deviations * error)

    in_all, in_all_within = (
        float(scipy.special.ndtri(FOUND ** (1 / number)))
        for number in (launches, len(planned(chosen)))
    )
    return Finds(
        node=least(NODE_MARGIN, of_node, in_all),
        link=least(MARGIN, of_pair, in_all),
        gpu=least(NODE_MARGIN, of_gpu, in_all_within + BEYOND) if of_gpu else None,
    )


def cost(chosen: Chosen, launches: Sequence[Measures]) -> Cost:
    """Estimates the cost of these launches."""
    number = len(chosen.nodes)
    slots = 2 * chosen.slot_ms / 1e3
    begin = GPU_ROUND_SECONDS if chosen.rails else ROUND_SECONDS
    orders = len(set(chosen.buffers.split(",")))  # two different ones are measured in both
    start = LAUNCH_SECONDS + LAUNCH_SECONDS_OF_A_RANK * number * chosen.per_node
    seconds = sum(
        start
        + (launch.inside + launch.host) * (slots + begin)
        + (launch.together + launch.alone) * (orders * slots + begin)
        for launch in launches
    )
    most = launches[0].together * (number // 2) if launches else 0
    return Cost(min(most, math.comb(number, 2)), seconds, seconds * number / 3600)


def summary(chosen: Chosen) -> list[str]:
    """Returns the lines that describe the plan before it runs."""
    launches = planned(chosen)
    number, every = len(chosen.nodes), math.comb(len(chosen.nodes), 2)
    first, total = launches[0], cost(chosen, launches)
    covered = f"{total.pairs} of {count(every, 'pair')} ({100 * total.pairs / every:.3g} %)"
    which = in_short(chosen.nodes) if chosen.nodes[0] else str(number)
    lines = [f"nodes:      {which}, {_ranks(chosen)}"]
    lines += _rails(chosen)
    lines += _groups(chosen)
    if is_whole(chosen):
        with_rails = ", all of its rails together" if chosen.per_node > 1 else ""
        alone = f", and each pair alone{with_rails}" if first.alone else ""
        often = repeats(chosen)
        several = f", {often} times" if often > 1 else ""
        lines.append(
            f"launches:   {len(launches)}, each with all pairs in"
            f" {count(first.together // often, 'round')} of disjoint pairs{alone}{several}"
        )
    else:
        lines.append(
            f"launches:   1 with {count(first.together, 'round')} of disjoint pairs, 1 with what "
            f"looks slow in it, and {len(launches) - 2} with what does so in both and with "
            f"{CONTROLS} other pairs"
        )
    outside = "" if total.pairs == every else ": links of the others are not tested"
    if outside and not chosen.rounds:
        outside += f"; --rounds {_rounds_of_all(number)} measures all"
    lines.append(f"covers:     {covered}{outside}")
    lines.append(
        f"estimate:   {format_seconds(total.seconds)}, {total.node_hours:.3g} node hours"
        + ("" if is_whole(chosen) else ", and more where much looks slow")
    )
    if number > LEAST_NODES:
        losses = finds(chosen)
        node, link, gpu = (100 * ((loss or 1) - 1) for loss in losses)
        what = f"a node that takes {node:.0f} % longer, and a link {link:.0f} %"
        if losses.gpu is not None:
            what = (
                f"a node or a NIC that takes {node:.0f} % longer, a link {link:.0f} %, and within a"
                f" node a GPU {gpu:.0f} %"
            )
        lines.append(
            f"finds:      {what}, in {100 * FOUND:.0f} % of runs, if values scatter by"
            f" {100 * SCATTER:.0f} %"
        )
    return [*lines, *_missed(chosen)]


def _missed(chosen: Chosen) -> Iterator[str]:
    """Yields a line of what the launches are too few to find, however slow it is, and one of rails
    that are not compared."""
    launches = planned(chosen)
    judging = sum(launch.stage in ("whole", "again") for launch in launches)
    nodes = tests_of_nodes(chosen)
    if chosen.per_node == 2:
        yield "misses:     a slow rail: of two, neither is usual"
    groups = min((len(level.names) for level in chosen.levels), default=0)
    parts = [
        ("an uplink or a group", groups, judging, "groups", 4),
        ("a rail", len(chosen.rails), judging if is_whole(chosen) else len(launches), "rails", 3),
    ]
    for name, number, of_it, plural_name, least in parts:
        if number < least:
            continue
        tests = nodes + 2 * _curves(launches) * number
        if is_shown(number, of_it, tests):
            continue
        needed = next((more for more in range(1, 20) if is_shown(number, of_it + more, tests)), 0)
        yield (
            f"misses:     {name}, however slow: of {number} {plural_name} it takes"
            f" --launches {chosen.launches + needed}"
        )


def _curves(launches: Sequence[Measures]) -> int:
    return 2 * (2 if launches[0].alone else 1)


def tests_of_nodes(chosen: Chosen) -> int:
    """The tests of nodes and their parts, as far as no survey chooses them: between nodes of each
    node and NIC, and within of each node, GPU and host memory."""
    nodes, gpus = len(chosen.nodes), chosen.per_node
    launches = planned(chosen)
    if nodes <= LEAST_NODES:
        return 0
    between = _curves(launches) * (1 + gpus * (gpus > 1)) if is_whole(chosen) else 0
    within = {1: 0, 2: 1 + 3}.get(gpus, 1 + gpus + 1 + 2 * gpus)  # with GPUs, with host memory
    return nodes * (between + 2 * within)


def is_shown(subjects: int, launches: int, tests: int) -> bool:
    """True if these launches can show that one subject is slow, at best: if it is slower than any
    subject ever scatters (additive.excess). `tests`: those of its family."""
    share = 1 / (subjects * launches + 1)
    fisher = float(scipy.special.chdtrc(2 * launches, -2 * launches * math.log(share)))
    return 2 * 2 * min(fisher, share**launches) * tests < ERROR_RATE


def _ranks(chosen: Chosen) -> str:
    if not chosen.rails:
        return "a rank on each, with buffers in host memory"
    kinds = {
        "D,D": "buffers in GPU memory",
        "H,D": "buffers in host memory at one end and GPU memory at the other, in both orders",
    }
    number = len(chosen.rails)
    ranks = f"{number} ranks on each, one for each GPU" if number > 1 else "a rank on each"
    return f"{ranks}, {kinds[chosen.buffers]}"


def _rails(chosen: Chosen) -> Iterator[str]:
    """Yields a line of the rails, if there are any, and one of what is measured within nodes."""
    if not chosen.rails:
        return
    numbers = ", ".join(rail.gpu for rail in chosen.rails)
    gpus = f"{'GPU' if len(chosen.rails) == 1 else 'GPUs'} {numbers}; the library chooses adapters"
    if any(rail.adapter for rail in chosen.rails):
        named = [(rail.gpu, rail.adapter or "the library's choice") for rail in chosen.rails]
        gpus = ", ".join(f"GPU {gpu} with {adapter}" for gpu, adapter in named)
    yield f"rails:      {len(chosen.rails)}: {gpus}"
    yield from _shared(chosen.rails)
    first = planned(chosen)[0]
    if first.inside:
        yield (
            f"within:     each node, {first.inside} rounds between its GPUs and {first.host}"
            " between host and GPU, in each launch"
        )
    else:
        yield "within:     nothing, as that takes two GPUs or more"


def _shared(rails: Sequence[Rail]) -> Iterator[str]:
    """Yields a line of each adapter that has more GPUs than another one."""
    by_adapter = grouped([rail for rail in rails if rail.adapter], lambda rail: rail.adapter)
    fewest = min(map(len, by_adapter.values()), default=0)
    for adapter, sharing in by_adapter.items():
        if len(sharing) > fewest:
            gpus = listed([rail.gpu for rail in sharing])
            yield (
                f"shared:     {adapter}, by GPUs {gpus}; other adapters have fewer GPUs: if one"
                " is down or slow on this node, give --adapters"
            )


def _groups(chosen: Chosen) -> Iterator[str]:
    """Yields a line of the groups of nodes, or of none."""
    if chosen.levels_from == NONE:
        yield "groups:     none: all nodes are alike"
        return
    if not chosen.levels:
        yield "groups:     not known: the figures show them, or --groups names them"
        return
    levels = [f"{len(level.names)} {plural(level.kind)}" for level in chosen.levels]
    yield f"groups:     {', '.join(levels)}, by {chosen.levels_from}"


def rounds_of(
    chosen: Chosen,
    number: int,
    suspects: Indices | None = None,
    labels: Indices | None = None,
) -> tuple[list[Round], list[Round]]:
    """Returns the rounds of a launch: those of pairs at the same time, and those of pairs alone.
    For a launch that measures them again: `suspects` (pairs x 2), and the group of each node."""
    nodes = len(chosen.nodes)
    chance = np.random.default_rng([chosen.seed, number])
    measures = planned(chosen)[number]
    if measures.stage in ("whole", "survey"):
        often = repeats(chosen) if measures.stage == "whole" else 1
        together = [
            pairs
            for _ in range(often)
            for pairs in rounds.shuffled(nodes, measures.together // often, chance)
        ]
        alone = rounds.alone(together) if measures.alone else []
        return together, [alone[index] for index in chance.permutation(len(alone))]
    assert suspects is not None
    most_suspects = int(np.bincount(suspects.reshape(-1), minlength=1).max())  # of a node
    if measures.stage == "sift":
        least = measures.together + most_suspects
        return rounds.again(nodes, suspects, least, chance, labels), []
    others = controls(chosen, suspects)
    both = np.concatenate([suspects, others])
    # A part of the suspects stands for them: the same in every launch.
    order = np.random.default_rng([chosen.seed, len(suspects)]).permutation(len(suspects))
    sample = np.concatenate([suspects[order[:ALONE_AGAIN]], others[:ALONE_AGAIN]])
    alone = [sample[index : index + 1] for index in chance.permutation(len(sample))]
    together = [
        pairs
        for _ in range(REPEATED)
        for pairs in rounds.again(nodes, both, AGAIN_ROUNDS + most_suspects, chance, labels)
    ]
    return together, alone


def rounds_inside(chosen: Chosen, number: int) -> list[Round]:
    """Returns the rounds of a launch within nodes: pairs of rails, every one as often as
    `repeats_inside` says."""
    rails = chosen.per_node
    chance = np.random.default_rng([chosen.seed, number, 1])
    often = repeats_inside(chosen)
    return [pairs for _ in range(often) for pairs in rounds.shuffled(rails, None, chance)]


def controls(chosen: Chosen, suspects: Indices) -> Indices:
    """Returns random pairs that are no suspects: pairs x 2."""
    nodes = len(chosen.nodes)
    chance = np.random.default_rng([chosen.seed, 2**32])
    drawn = np.sort(chance.integers(nodes, size=(4 * CONTROLS, 2)), axis=1)
    drawn = np.unique(drawn[drawn[:, 0] < drawn[:, 1]], axis=0)
    suspected = set(keys(suspects, nodes).tolist())
    others = drawn[[key not in suspected for key in keys(drawn, nodes).tolist()]]
    return others[chance.permutation(len(others))[:CONTROLS]]


def keys(pairs: Indices, nodes: int) -> Indices:
    """Returns a number for each pair (pairs x 2)."""
    return np.asarray(pairs[:, 0].astype(np.int64) * nodes + pairs[:, 1])
