# SPDX-License-Identifier: Apache-2.0
"""The plan of a study: contenders x paths x variants, and ceilings, in randomised blocks."""

import datetime
import random
from collections.abc import Callable, Iterator, Sequence

import msgspec

from nearpeak.errors import UserError
from nearpeak.libraries.families import is_native
from nearpeak.machine.model import Path
from nearpeak.machine.perftest import HINT, PROGRAM
from nearpeak.study.benchmarks import Benchmark
from nearpeak.study.buffers import HOST, ceiling_buffers, has_ceiling, needs_gpu, rank_ends
from nearpeak.study.estimate import Estimate, guess_seconds
from nearpeak.study.model import SCHEMA, Contender, Plan, PlannedLaunch, Variant, new_study
from nearpeak.study.options import Options
from nearpeak.study.sizes import format_bytes, format_seconds, format_sizes

LOOKS = (6, 9, 12)  # launches a cell at which precision is judged (docs/methodology.md)
SIZES = [0, *(2**power for power in range(27))]  # 0 B to 64 MiB
SLOT_MS = 100
SLOTS_MS = (200, 150, 100, 75, 50)  # what a budget may choose from
SIZE_STEPS = (2, 3, 4)  # every so-many-th power of two
BUDGET_SHARE = 0.9  # of a budget is planned: a launch too few costs more than a minute too many
LEAST_LAUNCHES = 2
WINDOW = 64
IN_FLIGHT_BYTES = 64 * 1024**2
GPU_IN_FLIGHT_BYTES = 256 * 1024**2  # the window of 64 is whole up to OMB's largest, 4 MiB
IN_FLIGHT_LEAST = 16 * 1024**2  # in a budget: the window of 64 is whole up to 256 KiB,
GPU_IN_FLIGHT_LEAST = 128 * 1024**2  # and here up to 2 MiB: less leaves a fast link idle at times
LEAST_LIMIT_SECONDS = 30.0
LIMIT_FACTOR = 10.0  # times the longest launch's estimate: then it is taken to hang

Runs = Callable[[Contender, Variant], bool]


# What a case finds in the caches: how its buffers are used, and who touched them last. These axes
# every benchmark and every ceiling has; of what does not name them, the values are these.
State = tuple[tuple[str, str], ...]
USUAL_STATE: State = (("reuse", "fixed"), ("touch", "none"))


def state_of(variant: Variant) -> State:
    """What of a variant's axes its ceiling must have too."""
    return tuple((name, variant.axes.get(name, usual)) for name, usual in USUAL_STATE)


def fits(path: Path, benchmark: Benchmark, buffers: str) -> bool:
    """Whether a benchmark with these buffers runs on a path: one rank sits at each of its ends."""
    ranks = path.transport != "local" and benchmark.ranks.fits(len(path.ends))
    return ranks and rank_ends(path, buffers) is not None


def all_run(_contender: Contender, _variant: Variant) -> bool:
    """Every contender is measured in every variant."""
    return True


def make_plan(
    options: Options,
    contenders: Sequence[Contender],
    variants: Sequence[Variant],
    paths: Sequence[Path],
    benchmarks: Sequence[Benchmark],
    runs: Runs = all_run,
    perftest: bool = False,
) -> Plan:
    """A plan for these options; with a budget, fitted to it (`fit`).

    A variant is measured on the paths that it fits, with the contenders that `runs` says;
    ceilings over RDMA adapters with `perftest` alone. `benchmarks`: those of the variants.

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
        created=datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        seed=seed,
        sizes=options.sizes or SIZES,
        slot_ms=options.slot_ms or SLOT_MS,
        window=options.window or WINDOW,
        in_flight_bytes=options.in_flight_bytes or IN_FLIGHT_BYTES,
        gpu_in_flight_bytes=options.in_flight_bytes or GPU_IN_FLIGHT_BYTES,
        looks=[options.launches] if options.launches else list(LOOKS),
        budget_seconds=options.budget_seconds,
        launch_limit_seconds=0.0,
        hosts=options.hosts,
        remote_shell=options.remote_shell,
        contenders=list(contenders),
        benchmarks=[
            one for one in benchmarks if any(one.name == variant.benchmark for variant in variants)
        ],
        variants=list(variants),
        paths=list(paths),
        launches=[],
        perftest=perftest,
    )
    plan.launches = [one for path in plan.paths for one in _launches(plan, runs, path)]
    if plan.budget_seconds is not None:
        fit(plan, options)
    plan.launches = _blocks(plan)
    plan.launch_limit_seconds = options.launch_limit_seconds or _limit(plan)
    return plan


def fit(plan: Plan, options: Options) -> None:
    """Makes a plan of one block small enough for its budget: slot, bytes in flight, sizes, then
    launches.

    What the user fixed stays. At least 2 launches stay, even when they do not fit.
    """
    assert plan.budget_seconds is not None
    goal = plan.budget_seconds * BUDGET_SHARE
    launches = plan.looks[0]
    for slot_ms in SLOTS_MS if options.slot_ms is None else (options.slot_ms,):
        plan.slot_ms = slot_ms
        if _seconds(plan, launches) <= goal:
            return
    if options.in_flight_bytes is None:
        plan.in_flight_bytes = IN_FLIGHT_LEAST
        plan.gpu_in_flight_bytes = GPU_IN_FLIGHT_LEAST
        if _seconds(plan, launches) <= goal:
            return
    for step in () if options.sizes else SIZE_STEPS:
        # 0, and every so-many-th power of two down from the largest.
        plan.sizes = [SIZES[0], *SIZES[:0:-step][::-1]]
        if _seconds(plan, launches) <= goal:
            return
    if options.launches is None:
        while launches > LEAST_LAUNCHES and _seconds(plan, launches) > goal:
            launches -= 1
        plan.looks = [launches]


def _seconds(plan: Plan, launches: int) -> float:
    """The estimate for so many launches of everything."""
    return launches * Estimate(plan).seconds(plan.launches)


def _limit(plan: Plan) -> float:
    longest = max((guess_seconds(plan, launch) for launch in plan.launches), default=0.0)
    return max(LEAST_LIMIT_SECONDS, LIMIT_FACTOR * longest)


def _blocks(plan: Plan) -> list[PlannedLaunch]:
    """All blocks; each holds every launch of the plan once, in an order of its own."""
    order = random.Random(plan.seed)
    once = list(plan.launches)
    launches: list[PlannedLaunch] = []
    for block in range(plan.looks[-1]):
        order.shuffle(once)
        for one in once:
            number, seed = len(launches), order.getrandbits(31)
            launches.append(msgspec.structs.replace(one, launch=number, block=block, seed=seed))
    return launches


def _launches(plan: Plan, runs: Runs, path: Path) -> Iterator[PlannedLaunch]:
    """What a block measures on a path: its ceilings, and every contender in every variant."""
    fitting = [
        (number, variant)
        for number, variant in enumerate(plan.variants)
        if fits(path, plan.benchmark(variant), variant.buffers)
    ]
    template = PlannedLaunch(
        launch=0, block=0, role="ceiling", path=path.id, contender=None, variants=[], seed=0
    )
    held = [variant for _, variant in fitting if has_ceiling(path, plan.benchmark(variant))]
    ceilings = {
        (state_of(variant), ceiling_buffers(variant.buffers))
        for variant in held
        # GPUs of two hosts are reached over RDMA adapters alone.
        if variant.buffers == HOST or not path.two_hosts
    }
    if path.transport == "local":
        ceilings = {(USUAL_STATE, HOST)}
    for state, buffers in sorted(ceilings):
        yield msgspec.structs.replace(template, axes=dict(state), buffers=buffers)
    if plan.perftest and path.two_hosts and path.adapter:
        # perftest uses the same buffers again and again, and looks at none of them.
        usual = {ceiling_buffers(v.buffers) for v in held if state_of(v) == USUAL_STATE}
        for buffers in sorted(usual):
            yield msgspec.structs.replace(
                template, axes=dict(USUAL_STATE), buffers=buffers, adapter=path.adapter
            )
    for number, contender in enumerate(plan.contenders):
        mine = [
            (index, variant)
            for index, variant in fitting
            if runs(contender, variant)
            and (not is_native(contender.library) or _native_runs(plan, path, variant))
        ]
        for together in _together(mine):
            yield msgspec.structs.replace(
                template,
                role="mpi",
                contender=number,
                variants=together,
                buffers=plan.variants[together[0]].buffers,
            )


def _native_runs(plan: Plan, path: Path, variant: Variant) -> bool:
    """Whether nearpeak-native can measure a variant on a path in the place of a library.

    It has no calls to choose from and stages nothing, and needs somebody to start it elsewhere.
    """
    benchmark = plan.benchmark(variant)
    usual = {axis.name: axis.default for axis in benchmark.axes} | dict(state_of(variant))
    own = variant.buffers == ceiling_buffers(variant.buffers) and not path.two_hosts
    return own and has_ceiling(path, benchmark) and variant.axes.items() <= usual.items()


def _together(variants: Sequence[tuple[int, Variant]]) -> list[list[int]]:
    """The variants in groups that one launch can measure: starting costs more than measuring.

    They have the same buffers and the same state of them, which are options of the launch, and no
    benchmark twice. In the order of the variants, so that a benchmark that crashes takes only
    those after it along.
    """
    groups: list[tuple[tuple[str, State], dict[str, int]]] = []
    for index, variant in variants:
        shared = (variant.buffers, state_of(variant))
        for key, members in groups:
            if key == shared and variant.benchmark not in members:
                members[variant.benchmark] = index
                break
        else:
            groups.append((shared, {variant.benchmark: index}))
    return [list(members.values()) for _, members in groups]


def summary(plan: Plan) -> list[str]:
    """The plan in a few lines for people."""
    blocks = plan.looks[-1]
    block = [launch for launch in plan.launches if launch.block == 0]
    one = Estimate(plan).seconds(block)
    ceilings = sum(launch.role == "ceiling" for launch in block)
    lines = [
        "libraries:  " + ", ".join(contender.label for contender in plan.contenders),
        "paths:      " + ", ".join(path.id for path in plan.paths),
        "benchmarks: " + ", ".join(variant_label(variant) for variant in plan.variants),
        f"sizes:      {format_sizes(plan.sizes)} ({len(plan.sizes)}), slot {plan.slot_ms} ms",
        f"window:     {plan.window} messages, at most {format_bytes(plan.in_flight_bytes)}"
        + (
            f" ({format_bytes(plan.gpu_in_flight_bytes)} with memory of a GPU)"
            if any(needs_gpu(variant.buffers) for variant in plan.variants)
            else ""
        ),
        f"launches:   {len(block)} a block ({ceilings} ceilings), "
        + (
            f"{blocks} blocks"
            if len(plan.looks) == 1
            else f"{plan.looks[0]} to {blocks} blocks, until every cell is precise"
        ),
        f"estimate:   {format_seconds(one)} a block, "
        f"{format_seconds(one * plan.looks[0])} for {plan.looks[0]} blocks"
        + (f", budget {format_seconds(plan.budget_seconds)}" if plan.budget_seconds else ""),
    ]
    if plan.budget_seconds and one * plan.looks[0] > plan.budget_seconds:
        lines.append(
            "note:       the estimate exceeds the budget, this is the least that can be run"
        )
    adapters = sorted({path.adapter for path in plan.paths if path.adapter})
    if adapters and not plan.perftest:
        lines.append(
            f"note:       no ceiling over the RDMA adapter {', '.join(adapters)}: {PROGRAM} is not "
            f"on PATH; {HINT}"
        )
    if plan.looks[-1] < LOOKS[0]:
        lines.append(f"note:       fewer than {LOOKS[0]} launches a cell give no 95 % interval")
    return lines


def variant_label(variant: Variant) -> str:
    """`latency D,D (blocking, fixed, both)`: with its buffers, unless they are the host's, and
    the value of each of its axes."""
    buffers = "" if variant.buffers == HOST else f" {variant.buffers}"
    values = ", ".join(variant.axes.values())
    return f"{variant.benchmark}{buffers} ({values})" if values else f"{variant.benchmark}{buffers}"
