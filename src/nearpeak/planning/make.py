# SPDX-License-Identifier: Apache-2.0
"""The plan of a study: contenders x paths x variants, and ceilings, in randomised blocks."""

import math
import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import msgspec

from nearpeak.clock import now
from nearpeak.errors import UserError
from nearpeak.launching.command_lines import new_study
from nearpeak.launching.describe import Variant
from nearpeak.launching.paths import between_gpus, fits
from nearpeak.libraries.families import all_families, is_ceiling, mode_of
from nearpeak.libraries.library import Contender
from nearpeak.machine.perftest import HINT, PROGRAM
from nearpeak.numbers import count
from nearpeak.planning.ceilings import ceiling_launches
from nearpeak.planning.estimate import guess_cost
from nearpeak.planning.fit import (
    KEPT_SIZE,
    blocks_wanted,
    budget_for,
    expected_blocks,
    expected_seconds,
    fit,
    is_held,
    rounded,
    seconds_of,
    spare,
)
from nearpeak.planning.options import Options
from nearpeak.planning.plan import (
    LEAST_SAMPLES,
    LEAST_SLOT_MS,
    PILOT_BLOCKS,
    SCHEMA,
    Addition,
    Group,
    Plan,
    Template,
)
from nearpeak.statistics.blocks import blocks_needed, most_families
from nearpeak.statistics.levels import FEWEST_FOR_INTERVAL
from nearpeak.terms.axes import USUAL_STATE, State, staging, state_of
from nearpeak.terms.benchmarks import Benchmark, named
from nearpeak.terms.buffers import (
    HOST,
    ceiling_buffers,
    is_measured,
    needed_ceilings,
    needs_gpu,
    rank_ends,
)
from nearpeak.terms.left_out import LeftOut
from nearpeak.terms.path import DataPath
from nearpeak.terms.sizes import format_bytes, format_seconds, format_sizes, parse_sizes

LOOKS = (6, 9, 12)  # blocks after which precision is judged (docs/methodology.md)
# With a budget, cells that are not precise yet go on: each look has 1.5 or 1.33 times the blocks.
BUDGET_LOOKS = (*LOOKS, 18, 24, 36, 48, 72, 96, 144, 192, 288, 384)
SIZES = [0, *(2**power for power in range(27))]  # 0 B to 64 MiB
# A study with default options measures benchmarks without a measured ceiling at its sizes nearest
# to these. They are many, and a few sizes show where one is slow.
FEW_SIZES = (8, 1 << 10, 1 << 15, 1 << 20, 1 << 24)
USUAL_SECONDS = 780.0  # its budget: 15 minutes with what comes before, on 2x H200
# Of launch medians, relative; from studies of a machine with 2 cores and of one with 2x H200.
DEVIATION, VIRTUAL_DEVIATION = 0.03, 0.10
WINDOW = 64
# The same in every budget. At both ends that is twice a last-level cache of up to 64 MiB.
IN_FLIGHT_BYTES = 64 * 1024**2
GPU_IN_FLIGHT_BYTES = 256 * 1024**2  # the window of 64 is whole up to OMB's largest, 4 MiB
# Bytes of a message from which a path carries no more: between GPUs (16 MiB reach 363, 512 MiB
# 395.7 GB/s of NVLink between two H200), from or to the host's memory, and through a network.
# Within a GPU 256 MiB reach 1.97, 1 GiB 2.12 TB/s of an H200's memory.
GPU_PLATEAU = 256 * 1024**2
SAME_GPU_PLATEAU = 1024**3
HOST_PLATEAU = 64 * 1024**2
NETWORK_PLATEAU = 16 * 1024**2
LEAST_LIMIT_SECONDS = 30.0
LIMIT_FACTOR = 10.0  # times the longest launch's estimate: then it counts as hung

Runs = Callable[[Contender, Variant], bool]
RunsOn = Callable[[Contender, Variant, DataPath], bool]
Numbered = tuple[int, Variant]  # with its index into Plan.variants


def is_measured_on(path: DataPath, benchmark: Benchmark, buffers: str) -> bool:
    """True if a study that is asked for a benchmark measures it on a path: applications where they
    are usual, and on named paths between memories that are alike."""
    ordinary = benchmark.over_bytes and not path.gpu_support
    chosen = ordinary or is_usual(path, benchmark) or (path.named and _alike(path))
    return chosen and fits(path, benchmark, buffers)


def _alike(path: DataPath) -> bool:
    return len({end.memory for end in path.ends}) == 1


def is_usual(path: DataPath, benchmark: Benchmark) -> bool:
    """True if a study measures a benchmark on a path by default.

    Benchmarks without a measured ceiling run where memories are alike and no ranks share a GPU, by
    the library's own choice of transport: their launches cost as much as those of the others. If
    another path gives the host's rank a GPU of its own, one message shows the cost of sharing one.
    Messages one way and the usual collective operations show the cost of GPU support.
    """
    if path.gpu_support:
        message = benchmark.one_message or benchmark.one_way
        collective = benchmark.family == "collective" and benchmark.default
        return collective or (message and benchmark.ceiling == "measured")
    if path.host_device == "same" and path.variant_of:
        return benchmark.one_message
    if benchmark.ceiling == "measured":
        return True
    direct = not path.shares_gpu and (path.transport == "memory" or path.between_hosts)
    return direct and _alike(path)


@dataclass(frozen=True)
class Eligibility:
    """The contenders that are measured in each variant."""

    runs: Runs = lambda _contender, _variant: True  # on any path
    # On a path, by its behaviour with a rank that holds no GPU.
    runs_on: RunsOn = lambda _contender, _variant, _path: True
    # In launches of their own, as they are not safe after others.
    alone: Runs = lambda _contender, _variant: False


@dataclass(frozen=True)
class PlanContext:
    """Facts that a plan is made from."""

    eligibility: Eligibility = Eligibility()
    perftest: bool = False  # its programs are there: without them no ceilings over RDMA adapters
    deviation: float = DEVIATION  # of launch medians, relative, until some were measured
    trial_seconds: float = 0.0  # of the budget, that are spent before the first launch


def make_plan(
    options: Options,
    contenders: Sequence[Contender],
    variants: Sequence[Variant],
    paths: Sequence[DataPath],
    benchmarks: Sequence[Benchmark],
    context: PlanContext = PlanContext(),
) -> Plan:
    """Returns a plan for these options; with a budget, fitted to it (`fit`).

    A variant is measured on the paths that it fits. `benchmarks`: those of the variants.

    UserError when a launch count and a budget leave nothing to plan with, or names repeat.
    """
    labels = [contender.label for contender in contenders]
    for label in labels:
        if labels.count(label) > 1:
            raise UserError(
                f"two contenders are called {label!r}: give each library and settings its own name"
            )
    seed = random.SystemRandom().getrandbits(32) if options.seed is None else options.seed
    plan = Plan(
        schema=SCHEMA,
        study=new_study(),
        created=now(),
        seed=seed,
        sizes=[],
        slot_ms=options.slot_ms or LEAST_SLOT_MS,
        slot_fixed=options.slot_ms is not None,
        window=options.window or WINDOW,
        in_flight_bytes=options.in_flight_bytes or IN_FLIGHT_BYTES,
        gpu_in_flight_bytes=options.in_flight_bytes or GPU_IN_FLIGHT_BYTES,
        looks=_looks(options, len(contenders)),
        budget_seconds=budget_of(options),
        job_seconds=options.job_seconds,
        launch_limit_seconds=0.0,
        hosts=options.hosts,
        remote_shell=options.remote_shell,
        contenders=list(contenders),
        benchmarks=[],
        variants=[],
        paths=[],
        launches=[],
        perftest=context.perftest,
        deviation=context.deviation,
        trial_seconds=context.trial_seconds,
        problem_sizes=_problem_sizes(variants, benchmarks, options),
    )

    def hold(
        variants: Sequence[Variant], paths: Sequence[DataPath], sizes: Sequence[int] | None
    ) -> None:
        plan.variants, plan.paths = list(variants), list(paths)
        plan.benchmarks = _with_ceilings(variants, paths, benchmarks)
        plan.sizes = list(sizes or options.sizes or SIZES)
        plan.few_sizes = _few(plan, options)
        if sizes:
            plan.sizes = sorted({*sizes, KEPT_SIZE})
        plan.launches = [
            launch for path in paths for launch in _launches(plan, context.eligibility, path)
        ]
        plan.plateaus = _plateaus(plan)

    hold(variants, paths, None)
    _check_sizes(plan)
    if plan.budget_seconds is not None:
        fit(plan, options, hold)
        plan.spare = spare(plan, options)
    plan.launch_limit_seconds = options.launch_limit_seconds or _limit(plan)
    return plan


def _problem_sizes(
    variants: Sequence[Variant], benchmarks: Sequence[Benchmark], options: Options
) -> dict[str, list[int]]:
    """Returns the problem sizes of the applications among the variants; UserError for texts that
    name none of them."""
    names = {variant.benchmark for variant in variants}
    by_name = {
        benchmark.name: list(benchmark.x.usual)
        for benchmark in benchmarks
        if benchmark.name in names and not benchmark.over_bytes
    }
    for text in options.problem_sizes:
        name, equals, sizes = text.partition("=")
        if not equals or name not in by_name:
            applications = ", ".join(by_name) or "none"
            raise UserError(
                f"--problem-sizes {text!r}: write NAME=SIZES, like jacobi2d=1K,4K, of an"
                f" application that is measured ({applications})"
            )
        by_name[name] = parse_sizes(sizes)
    return by_name


def _check_sizes(plan: Plan) -> None:
    """UserError for a benchmark that would be measured at none of the sizes."""
    for variant in plan.variants:
        benchmark = plan.benchmark(variant)
        if plan.sizes_of(benchmark):
            continue
        most = f" to {format_bytes(benchmark.largest)}" if benchmark.largest is not None else ""
        raise UserError(
            f"{benchmark.name} has sizes from {format_bytes(benchmark.smallest)}{most}, and "
            f"{format_sizes(plan.sizes)} has none of them: give --sizes some, or leave it out"
        )


def _with_ceilings(
    variants: Sequence[Variant], paths: Sequence[DataPath], benchmarks: Sequence[Benchmark]
) -> list[Benchmark]:
    """Returns the benchmarks of the variants, and those whose ceilings they are compared with."""
    names = {variant.benchmark for variant in variants}
    used = [benchmark for benchmark in benchmarks if benchmark.name in names]
    names |= {
        needed.name
        for path in paths
        if path.transport != "local"
        for benchmark in used
        for needed, _ in needed_ceilings(path, benchmark, benchmarks)
    }
    return [benchmark for benchmark in benchmarks if benchmark.name in names]


def _looks(options: Options, contenders: int) -> list[int]:
    """Returns the numbers of blocks after which precision is judged: at least as many as judge
    every two contenders, as precise cells end there."""
    if options.launches:
        return [options.launches]
    least = blocks_needed(math.comb(contenders, 2))
    looks = LOOKS if options.budget_seconds is None else BUDGET_LOOKS
    return sorted({max(look, least) for look in looks})


def added(
    plan: Plan,
    contenders: Sequence[Contender],
    variants: Sequence[Variant],
    eligibility: Eligibility,
    since: int,
) -> Addition:
    """Returns what contenders add to a plan, with variants that it lacks: launches from a block
    on."""
    grown = plan.grown(Addition(contenders=[*contenders], variants=[*variants]))
    launches = [
        msgspec.structs.replace(launch, since=since)
        for path in grown.paths
        for fitting in [_fitting(grown, path)]
        for number in range(len(plan.contenders), len(grown.contenders))
        for launch in _of_contender(grown, eligibility, path, number, fitting)
    ]
    return Addition(contenders=[*contenders], variants=[*variants], launches=launches)


def budget_of(options: Options) -> float | None:
    """Returns the budget in seconds; None, as long as it takes, if the user chose a part of what is
    measured and gave none."""
    free = options.nothing_asked and not options.launches
    return options.budget_seconds or (USUAL_SECONDS if free else None)


def _few(plan: Plan, options: Options) -> list[int]:
    unmeasured = any(benchmark.ceiling != "measured" for benchmark in plan.benchmarks)
    if not (options.nothing_asked and unmeasured):
        return []
    nearest = {
        min(plan.sizes, key=lambda size: abs(math.log2(max(size, 1) / wanted)))
        for wanted in FEW_SIZES
    }
    return sorted(nearest | set(options.kept_sizes).intersection(plan.sizes))


def _plateaus(plan: Plan) -> dict[str, int]:
    """Returns the plateau of each path whose sizes end before it, so that every study has the peak
    of a path.

    Only for two ends: with more of them, such messages would be too much memory.
    """
    plateaus: dict[str, int] = {}
    rates = [benchmark for benchmark in plan.benchmarks if benchmark.main.better == "higher"]
    if not any(benchmark.ceiling == "measured" for benchmark in rates):
        return plateaus
    for path in plan.paths:
        if path.transport == "local" or len(path.ends) != 2:
            continue
        plateau = GPU_PLATEAU if {end.memory for end in path.ends} == {"gpu"} else HOST_PLATEAU
        if path.shares_gpu:
            plateau = SAME_GPU_PLATEAU
        if path.transport == "network":
            plateau = NETWORK_PLATEAU
        if plateau > max(plan.sizes):
            plateaus[path.id] = plateau
    return plateaus


def _limit(plan: Plan) -> float:
    costs = [guess_cost(plan, launch) for launch in plan.launches]
    longest = max((cost.seconds(plan.slot_ms, LEAST_SAMPLES) for cost in costs), default=0.0)
    return max(LEAST_LIMIT_SECONDS, LIMIT_FACTOR * longest)


def _launches(plan: Plan, eligibility: Eligibility, path: DataPath) -> Iterator[Template]:
    """Yields the launches of a block on a path: its ceilings, and every contender in every
    variant."""
    fitting = _fitting(plan, path)
    yield from _ceilings(plan, path, fitting)
    for number in range(len(plan.contenders)):
        yield from _of_contender(plan, eligibility, path, number, fitting)


def _fitting(plan: Plan, path: DataPath) -> list[Numbered]:
    """Returns the variants for which something is measured on a path."""
    return [
        (number, variant)
        for number, variant in enumerate(plan.variants)
        if _has_part(path, plan.benchmark(variant), variant.buffers)
        and (not plan.few_sizes or _is_wanted(path, plan.benchmark(variant), variant))
    ]


def _ceilings(plan: Plan, path: DataPath, fitting: Sequence[Numbered]) -> Iterator[Template]:
    if path.gpu_support:  # it is compared with the path without: it needs no ceiling
        return
    held = [
        (state_of(variant.axes), buffers)
        for _, variant in fitting
        for buffers in ceiling_launches(path, variant, plan.benchmarks)
    ]
    # GPUs of two hosts are reached only over RDMA adapters.
    ceilings = set(held) if path.transport != "local" else {(USUAL_STATE, HOST)}
    groups = [
        Group(axes=dict(state), buffers=buffers)
        for state, buffers in sorted(ceilings)
        if buffers == HOST or not path.between_hosts
    ]
    # Between hosts each has ports of its own.
    launches = [[group] for group in groups] if path.between_hosts else [groups]
    for together in filter(None, launches):
        yield Template(role="ceiling", path=path.id, groups=tuple(together))
    if plan.perftest and path.between_hosts and path.adapter:
        # perftest uses the same buffers again and again, and looks at none of them.
        for buffers in sorted({buffers for state, buffers in held if state == USUAL_STATE}):
            group = Group(axes=dict(USUAL_STATE), buffers=buffers)
            yield Template(role="ceiling", path=path.id, groups=(group,), adapter=path.adapter)


def _of_contender(
    plan: Plan, eligibility: Eligibility, path: DataPath, number: int, fitting: Sequence[Numbered]
) -> Iterator[Template]:
    if path.ceilings_only:
        return
    contender = plan.contenders[number]
    mine = [
        (index, variant)
        for index, variant in fitting
        if eligibility.runs(contender, variant)
        and eligibility.runs_on(contender, variant, path)
        and (not is_ceiling(contender.library) or _native_runs(plan, path, variant))
        and (mode_of(contender.library) is None or between_gpus(path, variant.buffers))
    ]
    alone = [numbered for numbered in mine if eligibility.alone(contender, numbered[1])]
    safe = [numbered for numbered in mine if numbered not in alone]
    for together in [*_together(plan, path, safe), *([numbered] for numbered in alone)]:
        groups = _groups(plan, together)
        yield Template(role="mpi", path=path.id, contender=number, groups=tuple(groups))


def _has_part(path: DataPath, benchmark: Benchmark, buffers: str) -> bool:
    """True if a benchmark is measured on a path, or an application is compared with its
    ceilings."""
    memory = path.ceilings_only and not benchmark.over_bytes
    return is_measured_on(path, benchmark, buffers) or (
        memory and rank_ends(path, buffers) is not None
    )


def _is_wanted(path: DataPath, benchmark: Benchmark, variant: Variant) -> bool:
    """True if a study with default options has time for a variant.

    Only messages are staged where a library refuses device buffers.
    """
    direct = staging(variant.axes) is None
    return is_usual(path, benchmark) and (direct or benchmark.ceiling == "measured")


def _native_runs(plan: Plan, path: DataPath, variant: Variant) -> bool:
    """True if nearpeak-native can measure a variant on a path as a library.

    It has no calls to choose from, stages nothing, and cannot start on another host.
    """
    benchmark = plan.benchmark(variant)
    usual = {axis.name: axis.default for axis in benchmark.axes} | dict(state_of(variant.axes))
    plain = variant.buffers == ceiling_buffers(variant.buffers) and not path.between_hosts
    return plain and is_measured(path, benchmark) and variant.axes.items() <= usual.items()


def _together(plan: Plan, path: DataPath, variants: Sequence[Numbered]) -> Iterable[list[Numbered]]:
    """Groups the variants that one launch can measure: starting costs more than measuring.

    All of them call MPI from several threads, or none; an application, which may take most of the
    memory, is alone. Between hosts they share the first host, on which rank 0 writes the records.
    """
    launches: dict[object, list[Numbered]] = defaultdict(list)
    for index, variant in variants:
        benchmark = plan.benchmark(variant)
        application = None if benchmark.over_bytes else index
        ends = rank_ends(path, variant.buffers) or ()
        first = ends[0].host if ends and path.between_hosts else None
        launches[benchmark.threads, application, first].append((index, variant))
    return launches.values()


def _groups(plan: Plan, variants: Sequence[Numbered]) -> list[Group]:
    """Groups variants by their buffers, the state of these, and the sizes; no benchmark twice."""
    groups: list[tuple[tuple[str, State, bool], dict[str, int]]] = []
    for index, variant in variants:
        shared = (variant.buffers, state_of(variant.axes), plan.has_few(index))
        for key, members in groups:
            if key == shared and variant.benchmark not in members:
                members[variant.benchmark] = index
                break
        else:
            groups.append((shared, {variant.benchmark: index}))
    return [
        Group(buffers=buffers, axes=dict(state), variants=tuple(members.values()))
        for (buffers, state, _), members in groups
    ]


def summary(plan: Plan) -> list[str]:
    """Describes the plan in a few lines for people."""
    ceilings = sum(launch.role == "ceiling" for launch in plan.launches)
    lines = [
        *measured_lines(plan),
        f"launches:   {len(plan.launches)} in each block ({ceilings} of them for ceilings),"
        f" {_block_words(plan)}",
        f"estimate:   {_estimate_words(plan)}",
        f"precision:  {promise(plan.deviation, expected_blocks(plan))}",
    ]
    lines += _verdict_words(plan)
    if plan.trial_seconds:
        seconds = format_seconds(plan.trial_seconds)
        lines.append(
            f"trials:     {seconds} before the first block: which operations work with GPU buffers"
        )
    families = [all_families().get(contender.library.family) for contender in plan.contenders]
    for scope in dict.fromkeys(family.scope for family in families if family):
        lines += [f"note:       {scope}"] if scope else []
    adapters = sorted({path.adapter for path in plan.paths if path.adapter})
    if adapters and not plan.perftest:
        lines.append(
            f"note:       no ceiling over the RDMA adapter {', '.join(adapters)}: {PROGRAM} is not "
            f"on PATH; {HINT}"
        )
    if expected_blocks(plan) < FEWEST_FOR_INTERVAL:
        lines.append(f"note:       fewer than {FEWEST_FOR_INTERVAL} launches give no 95 % interval")
    if not is_held(plan, blocks_wanted(plan)):
        needed = format_seconds(rounded(budget_for(plan, blocks_wanted(plan))))
        problem = "the budget is too small" if plan.job_seconds is None else "the job is too short"
        lines.append(
            f"note:       {problem}: {blocks_wanted(plan)} blocks need --budget "
            f"{needed}, though all was left out that may be; or name fewer --mpi, --paths or "
            "--benchmarks"
        )
    return lines + left_out_lines(plan.left_out)


def measured_lines(plan: Plan) -> list[str]:
    """Returns the first lines of a summary, which are the same however much of the plan is left."""
    slot = f"{plan.slot_ms:g} ms for each case of a launch"
    if not plan.slot_fixed:
        slot += f" in the first {PILOT_BLOCKS} blocks, then chosen from their scatter"
    return [
        "libraries:  " + ", ".join(contender.label for contender in plan.contenders),
        "paths:      " + ", ".join(path.id for path in plan.paths),
        "benchmarks: " + variants_label(plan, plan.variants),
        *(
            f"problems:   {name} of {', '.join(map(str, sizes))}"
            f" {named(plan.benchmarks, name).x.unit}"
            for name, sizes in plan.problem_sizes.items()
        ),
        f"sizes:      {format_sizes(plan.sizes)} ({len(plan.sizes)})",
        *(f"            {line}" for line in _other_sizes(plan)),
        f"slot:       {slot}",
        f"window:     {plan.window} messages, at most {format_bytes(plan.in_flight_bytes)}"
        + (
            f" ({format_bytes(plan.gpu_in_flight_bytes)} with memory of a GPU)"
            if any(needs_gpu(variant.buffers) for variant in plan.variants)
            else ""
        ),
    ]


def left_out_lines(left: Sequence[LeftOut]) -> list[str]:
    """Formats what was left out as a table for people."""
    if not left:
        return []
    rows = [(format_seconds(cut.budget_seconds), cut.label, cut.why) for cut in left]
    wide = max(len(label) for _, label, _ in rows)
    complete = max(cut.whole_seconds for cut in left)
    all_of_it = f", and nothing is left out with {format_seconds(complete)}" if complete else ""
    return [
        f"left out:   {count(len(left), 'thing')}, so that the budget holds enough"
        f" launches of all else; with this --budget it stays, and what is below it{all_of_it}:",
        *(f"            {budget:>7}  {label:<{wide}}  {reason}" for budget, label, reason in rows),
    ]


def _verdict_words(plan: Plan) -> list[str]:
    """Describes how many blocks verdicts on all pairs of alternatives take; empty for a single
    one."""
    compared = sum(not is_ceiling(contender.library) for contender in plan.contenders)
    pairs = compared * (compared - 1) // 2
    if not pairs:
        return []
    needed, expected = blocks_needed(pairs), expected_blocks(plan)
    text = f"verdicts:   {needed} blocks are needed for {count(pairs, 'pair')} of alternatives"
    if expected < needed:
        text += (
            f"; {expected} blocks judge only {most_families(expected)} of them, the first in the"
            " order of the libraries"
        )
    return [text]


def _other_sizes(plan: Plan) -> Iterator[str]:
    few = any(
        plan.sizes_in(launch, group) != plan.sizes
        for launch in plan.launches
        for group in launch.groups
        if group.variants
    )
    if few and plan.few_sizes:
        yield f"{format_sizes(plan.few_sizes)} for benchmarks without a measured ceiling"
    if unsized := [benchmark.name for benchmark in plan.benchmarks if not benchmark.sized]:
        yield f"{', '.join(unsized)}: no sizes, measured once"
    if sizes := sorted(set(plan.plateaus.values())):
        yield f"{format_sizes(sizes)} too for the rates of ceilings"


def _block_words(plan: Plan) -> str:
    if plan.budget_seconds is not None:
        return f"about {expected_blocks(plan)} blocks"
    if len(plan.looks) == 1:
        return f"{plan.looks[0]} blocks"
    return f"{plan.looks[0]} to {plan.looks[-1]} blocks, until every cell is precise"


def _estimate_words(plan: Plan) -> str:
    first, later = expected_seconds(plan)
    text = f"{format_seconds(first)} for each block"
    if not plan.slot_fixed:
        text = (
            f"{format_seconds(first)} for each of the first {PILOT_BLOCKS} blocks,"
            f" {format_seconds(later)} for each later one"
        )
    if plan.budget_seconds is not None:
        now = (
            "" if plan.job_seconds is None else f", {format_seconds(plan.job_seconds)} in this job"
        )
        return f"{text}; budget {format_seconds(plan.budget_seconds)}{now}"
    least, most = (seconds_of(plan, blocks) for blocks in (plan.looks[0], plan.looks[-1]))
    if least == most:
        return f"{text}; {format_seconds(least)} in all"
    return f"{text}; {format_seconds(least)} to {format_seconds(most)} in all"


def variants_label(plan: Plan, variants: Iterable[Variant]) -> str:
    """Returns `latency:staging=pinned, bw D,D`: as --benchmark has them, with their buffers, unless
    these are the host's."""
    names: dict[str, list[str]] = defaultdict(list)
    for variant in variants:
        usual = {axis.name: axis.default for axis in plan.benchmark(variant).axes}
        other = [
            f"{name}={value}" for name, value in variant.axes.items() if usual.get(name) != value
        ]
        names[variant.buffers].append(":".join(filter(None, [variant.benchmark, ",".join(other)])))
    return ", ".join(
        ", ".join(labels) + ("" if buffers == HOST else f" {buffers}")
        for buffers, labels in names.items()
    )


def promise(deviation: float, launches: int) -> str:
    """Describes the precision that so many launches give if launch medians deviate so much
    (relative)."""
    from nearpeak.statistics.intervals import expected_half_width  # numpy takes long to import

    width = expected_half_width(deviation, launches)
    if width is None:
        return f"{launches} launches of each case, too few for a 95 % interval"
    return (
        f"a 95 % interval of about ± {100 * width:.2g} % from {launches} launches of each case, "
        f"assuming that launches deviate by {100 * deviation:g} %"
    )
