# SPDX-License-Identifier: Apache-2.0
"""Makes a plan small enough for its budget: fewer sizes, then less that is measured.

Fewer launches than six give no interval and no verdict, and verdicts on three libraries and more
need some more. So a budget holds as many blocks of all that is kept, and what it does not hold is
left out in an order that docs/methods/budget.md states.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from nearpeak.grouping import grouped
from nearpeak.launching.describe import Variant
from nearpeak.planning.estimate import guess_cost, kind_of, least_samples
from nearpeak.planning.options import Options
from nearpeak.planning.plan import LEAST_SAMPLES, LEAST_SLOT_MS, PILOT_BLOCKS, Plan, Spare
from nearpeak.statistics.levels import FEWEST_FOR_INTERVAL
from nearpeak.terms.axes import STAGING, staging
from nearpeak.terms.benchmarks import QUOTED_BYTES
from nearpeak.terms.left_out import LeftOut, LeftOutKind
from nearpeak.terms.path import DataPath, is_named

# Launches that take longer than guessed may exceed the budget by this factor.
OVERTIME = 1.25
LEAST_LAUNCHES = 2  # where the budget does not hold enough of what may not be left out
GOAL_LAUNCHES = 9  # of each cell, that sizes are left out for
ROUNDED = 10.0  # seconds: the step of printed budgets
BUDGET_SHARE = 0.9  # of a budget is planned, the rest is for what takes longer than guessed
KEPT_SIZE = 1 << 24  # of messages, in every budget: at less a fast link shows little of its rate
# A budget chooses from these sizes: every n-th power of two, and the largest power.
SIZE_STEPS = ((2, 26), (2, 24), (3, 24), (3, 22), (4, 22), (4, 20))
# Families without a measured ceiling, those that the fewest programs use first. None is compared
# with a ceiling, and a later budget can measure them. Other families come before these.
FAMILIES = ("overlap", "stream", "datatype", "rma", "collective")

# Makes the plan one of these variants and paths, at these sizes (bytes; None: all that were asked
# for).
Hold = Callable[[Sequence[Variant], Sequence[DataPath], Sequence[int] | None], None]


def expected_seconds(plan: Plan) -> tuple[float, float]:
    """Returns the guesses for one of the first blocks, and for one of those that follow."""
    first = later = 0.0
    slot_ms = plan.slot_ms if plan.slot_fixed else LEAST_SLOT_MS
    for launch in plan.launches:
        cost = guess_cost(plan, launch)
        first += cost.seconds(plan.slot_ms, LEAST_SAMPLES)
        later += cost.seconds(slot_ms, least_samples(plan, kind_of(plan, launch), PILOT_BLOCKS))
    return first, later


def seconds_of(plan: Plan, blocks: int) -> float:
    """Returns the estimated seconds of `blocks` blocks."""
    first, later = expected_seconds(plan)
    pilots = min(blocks, PILOT_BLOCKS)
    return pilots * first + (blocks - pilots) * later


def budget_for(plan: Plan, blocks: int) -> float:
    """Seconds of a budget that holds `blocks` blocks, and the trials before them."""
    return (seconds_of(plan, blocks) + plan.trial_seconds) / BUDGET_SHARE


def expected_blocks(plan: Plan) -> int:
    """Returns the number of blocks that the budget of a plan will hold, 2 at least; without one,
    the most."""
    if plan.fitted_seconds is None:
        return plan.looks[-1]
    first, later = expected_seconds(plan)
    left = plan.fitted_seconds * BUDGET_SHARE - plan.trial_seconds - PILOT_BLOCKS * first
    blocks = PILOT_BLOCKS + int(left // later)
    return min(plan.looks[-1], max(LEAST_LAUNCHES, blocks))


def rounded(seconds: float) -> float:
    """Rounds a budget up to what `format_seconds` shows."""
    step = ROUNDED if seconds < 3600 - ROUNDED else 60.0
    return math.ceil(seconds / step) * step


def blocks_wanted(plan: Plan) -> int:
    """Returns the number of blocks that a budget must hold of all that is kept: enough to judge
    every two libraries, unless it was given."""
    fewest = plan.looks[0] if len(plan.looks) > 1 else FEWEST_FOR_INTERVAL
    return min(fewest, plan.looks[-1])


def fits_budget(plan: Plan, blocks: int) -> bool:
    """True if `blocks` blocks fit a plan's budget."""
    return plan.fitted_seconds is None or budget_for(plan, blocks) <= plan.fitted_seconds


def fit(plan: Plan, options: Options, hold: Hold) -> None:
    """Makes a plan small enough for its budget: first fewer sizes, for nine launches of each cell;
    then cut after cut (`cuts`), for the launches that verdicts need.

    Everything that the user fixed, named or requires stays. Bytes in flight are the same in every
    budget: quoted figures must not depend on it (docs/methods/ceilings.md).
    """
    reduction = _Reduction(plan, hold)
    kept = {0, QUOTED_BYTES, *set(options.kept_sizes).intersection(plan.sizes)}
    for step, largest in () if options.sizes else SIZE_STEPS:
        if fits_budget(plan, options.launches or GOAL_LAUNCHES):
            return
        reduction.sizes = sorted({*kept, *(2**power for power in range(largest, -1, -step))})
        reduction.hold_without([])
    blocks = blocks_wanted(plan)
    if not fits_budget(plan, blocks):
        _leave_out(plan, reduction, list(cuts(plan, options)), blocks)


def _leave_out(plan: Plan, reduction: "_Reduction", possible: "Sequence[Cut]", blocks: int) -> None:
    """Makes cuts until the budget holds `blocks` blocks."""
    made: dict[Cut, LeftOut] = {}
    complete = needed = budget_for(plan, blocks)
    for cut in possible:
        if needed <= (plan.fitted_seconds or 0.0):
            break
        before = _benchmarks(plan), [path.id for path in plan.paths]
        reduction.hold_without([*made, cut])
        then = budget_for(plan, blocks)
        if then >= needed or not _used(plan):  # it saves nothing, or leaves no library
            reduction.hold_without(list(made))
            continue
        benchmarks, paths = _benchmarks(plan), [path.id for path in plan.paths]
        made[cut] = LeftOut(
            kind=cut.kind,
            name=cut.name,
            why=cut.why,
            benchmarks=[name for name in before[0] if name not in benchmarks],
            paths=[path for path in before[1] if path not in paths],
            budget_seconds=rounded(needed),
            whole_seconds=rounded(complete),
        )
        needed = then
    # A large cut after small ones may have made some of these unnecessary.
    for cut in list(reversed(made))[1:]:
        reduction.hold_without([other for other in made if other != cut])
        if fits_budget(plan, blocks):
            del made[cut]
    reduction.hold_without(list(made))
    plan.left_out = list(made.values())


def spare(plan: Plan, options: Options) -> list[Spare]:
    """Returns what a study may still leave out if launches take longer than guessed: the cuts of a
    budget, in order; then libraries on single paths, of which those that turn out much slower than
    usual go first. A study that confirms a change leaves out no library alone: it is to find which
    one has become slow."""
    spares = [_spare_of(plan, cut) for cut in cuts(plan, options)]
    return spares if options.kept_alone else [*spares, *_Free(plan, options).libraries()]


def _spare_of(plan: Plan, cut: "Cut") -> Spare:
    return Spare(
        kind=cut.kind,
        name=cut.name,
        why=cut.why,
        variants=[
            number for number, variant in enumerate(plan.variants) if variant in cut.variants
        ],
        paths=[path.id for path in cut.paths],
    )


@dataclass(frozen=True, eq=False)
class Cut:
    """A part of the plan that a budget leaves out at once."""

    kind: LeftOutKind
    name: str
    why: str
    variants: list[Variant] = field(default_factory=list)
    paths: list[DataPath] = field(default_factory=list)


class _Reduction:
    """Makes a plan hold a part of everything that was asked for."""

    def __init__(self, plan: Plan, hold: Hold) -> None:
        self.sizes: Sequence[int] | None = None
        self._plan = plan
        self._hold = hold
        self._variants, self._paths = plan.variants, plan.paths
        self._used = _used(plan)

    def hold_without(self, cuts: Sequence[Cut]) -> None:
        """Makes the plan hold everything but these cuts, and no path on which that leaves nothing
        to measure."""
        without = [part for cut in cuts for part in (*cut.variants, *cut.paths)]
        variants = [variant for variant in self._variants if variant not in without]
        paths = [path for path in self._paths if path not in without]
        self._hold(variants, paths, self.sizes)
        lost = self._used - _used(self._plan)
        left = [path for path in paths if path.id not in lost]
        left = [path for path in left if not path.ceilings_only or _bounds(path, left)]
        if len(left) < len(paths):
            self._hold(variants, left, self.sizes)


def _used(plan: Plan) -> set[str]:
    """The paths that libraries are measured on."""
    return {launch.path for launch in plan.launches if launch.role == "mpi"}


def _benchmarks(plan: Plan) -> list[str]:
    """The benchmarks that libraries are measured in."""
    return list(dict.fromkeys(variant.benchmark for variant in plan.variants))


def _bounds(path: DataPath, others: Sequence[DataPath]) -> bool:
    """True if bounds of another path follow from this one, or an application in its GPU."""
    return path.shares_gpu or any(len(other.ends) > 2 and other.holds(path) for other in others)


def cuts(plan: Plan, options: Options) -> Iterator[Cut]:
    """Yields what a budget may leave out, in this order (docs/methods/budget.md gives the reasons);
    nothing that the user named."""
    free = _Free(plan, options)
    memories = [path for path in free.paths if path.is_local]
    remote = [memory for memory in memories if len(memory.numa_nodes) > 1]
    reason = "no library is compared with it"
    if remote:
        yield Cut("memory", "from other NUMA nodes", reason, paths=remote)
    yield from free.families()
    yield from free.messages()
    yield from free.stagings()
    local = [memory for memory in memories if memory not in remote]
    # With applications they are the roofline.
    if local and all(benchmark.over_bytes for benchmark in plan.benchmarks):
        yield Cut("memory", "of its own NUMA node", reason, paths=local)
    yield from free.of_libraries()


class _Free:
    """The parts of a plan that the user did not name."""

    def __init__(self, plan: Plan, options: Options) -> None:
        self._plan = plan
        named = _named_benchmarks(options)
        self._benchmarks = [
            benchmark
            for benchmark in plan.benchmarks
            if benchmark.name not in named and benchmark.family not in options.operations
        ]
        self._stages_are_free = not any(STAGING in text for text in options.benchmarks)
        self.paths = [path for path in plan.paths if not _named(path, options)]

    def families(self) -> Iterator[Cut]:
        """Yields the families without a measured ceiling."""
        families = dict.fromkeys(map(self._family, self._plan.variants))
        order = {family: place for place, family in enumerate(FAMILIES)}
        unmeasured = [it for it in self._benchmarks if it.ceiling != "measured"]
        for family in sorted(families, key=lambda family: order.get(family, -1)):
            names = [benchmark.name for benchmark in unmeasured if benchmark.family == family]
            if variants := self._variants_of(names):
                yield Cut("family", family, "without a measured ceiling", variants)

    def messages(self) -> Iterator[Cut]:
        """Yields the message benchmarks with a measured ceiling, the last in tables first; neither
        latency nor the rate of one direction."""
        for benchmark in sorted(self._benchmarks, key=lambda it: it.place, reverse=True):
            kept = benchmark.ceiling != "measured" or benchmark.one_message or benchmark.one_way
            variants = [] if kept else self._variants_of([benchmark.name])
            if variants:
                reason = "latency and one direction are enough to judge a path"
                yield Cut("benchmark", benchmark.name, reason, variants)

    def stagings(self) -> Iterator[Cut]:
        """Yields the ways of staging that follow from what libraries refuse, but the last."""
        variants = self._plan.variants if self._stages_are_free else []
        by_way = grouped(variants, lambda variant: staging(variant.axes))
        ways = list(filter(None, by_way))
        for way in ways[:-1]:
            yield Cut("staging", way, f"{ways[-1]} stands for staged copies", by_way[way])

    def of_libraries(self) -> Iterator[Cut]:
        """Yields the paths of libraries that may be left out: all but the named ones, or all but
        one."""
        used = [
            path
            for path in reversed(self._plan.paths)
            if not (path.without_mpi or path.ceilings_only)
        ]
        nearest = {_kind(path): path for path in used}
        possible = []
        for path in used:
            place, reason = _place(path, further=nearest[_kind(path)] is not path)
            possible.append((place, Cut("path", path.id, reason, paths=[path])))
        ordered = [cut for _, cut in sorted(possible, key=lambda entry: entry[0])]
        free = [cut for cut in ordered if cut.paths[0] in self.paths]
        yield from free if len(free) < len(ordered) else free[:-1]

    def libraries(self) -> Iterator[Spare]:
        """Yields each library on each path."""
        plan = self._plan
        free = {path.id for path in self.paths}
        measured = dict.fromkeys(
            (launch.contender, launch.path) for launch in plan.launches if launch.path in free
        )
        for contender, path in measured:
            if contender is not None:
                yield Spare(
                    kind="library",
                    name=f"{plan.contenders[contender].label} on {path}",
                    why="its launches take many times as long there as is usual",
                    contender=contender,
                    paths=[path],
                )

    def _family(self, variant: Variant) -> str:
        return self._plan.benchmark(variant).family

    def _variants_of(self, benchmarks: Sequence[str]) -> list[Variant]:
        return [variant for variant in self._plan.variants if variant.benchmark in benchmarks]


def _named_benchmarks(options: Options) -> set[str]:
    if options.kept_alone:
        return set(options.kept_benchmarks)
    problems = [text.partition("=")[0] for text in options.problem_sizes]
    texts = [text.partition(":")[0].strip() for text in options.benchmarks]
    return {*texts, *problems, *options.kept_benchmarks}


def _named(path: DataPath, options: Options) -> bool:
    """True if the user asked for the path."""
    if any(is_named(path.id, name) for name in options.kept_paths):
        return True
    requested = path.named or path.pair or (options.ranks and not path.is_local)
    return bool(requested) and not options.kept_alone


def _kind(path: DataPath) -> tuple[object, ...]:
    memories, wide = frozenset(path.memories), len(path.ends) > 2
    held = path.host_device, path.gpu_support
    return path.transport, memories, wide, path.shares_gpu, path.mps, held


def _place(path: DataPath, *, further: bool) -> tuple[int, str]:
    """Returns the position of a path in the order of cuts, and the reason: the first that holds."""
    memories = set(path.memories)
    inside = path.transport == "network" and not path.between_hosts
    sharing = path.host_device == "same" and bool(path.variant_of)
    reasons = (
        (inside, 0, "inside a host, programs use memory and not TCP"),
        (further, 1, "a nearer, or smaller, one of its kind is kept"),
        (path.gpu_support, 2, "as without GPU support"),
        (len(path.ends) > 2, 2, "pairs of ranks are more important"),
        (path.mps, 4, "as without MPS"),
        (sharing, 4, "as where the host's rank has a GPU of its own"),
        (memories == {"host"}, 3, "paths of GPUs are more important"),
        (path.shares_gpu, 5, "few programs share a GPU between ranks"),
        (memories != {"gpu"}, 6, "pairs of GPUs are more important"),
        (True, 7, ""),
    )
    return next((place, reason) for holds, place, reason in reasons if holds)
