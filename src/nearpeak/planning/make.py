# SPDX-License-Identifier: Apache-2.0
"""The plan of a study: contenders x paths x variants, and ceilings, in randomised blocks."""

import itertools
import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec

from nearpeak.clock import now
from nearpeak.errors import UserError
from nearpeak.launching.command_lines import new_study
from nearpeak.launching.describe import Variant
from nearpeak.launching.paths import between_ranks
from nearpeak.libraries.library import Contender
from nearpeak.planning.estimate import guess_cost
from nearpeak.planning.fit import KEPT_SIZE, fit, spare
from nearpeak.planning.options import Options
from nearpeak.planning.plan import LEAST_SAMPLES, LEAST_SLOT_MS, SCHEMA, Addition, Plan
from nearpeak.planning.templates import Eligibility, launches_of, launches_on
from nearpeak.planning.usual import FEW_SIZES, SIZES, budget_of
from nearpeak.statistics.blocks import blocks_needed
from nearpeak.terms.benchmarks import Benchmark
from nearpeak.terms.buffers import needed_ceilings
from nearpeak.terms.path import DataPath
from nearpeak.terms.sizes import format_bytes, format_sizes, parse_sizes

LOOKS = (6, 9, 12)  # blocks after which precision is judged (docs/methods/statistics.md)
# With a budget, cells that are not precise yet go on: each look has 1.5 or 1.33 times the blocks.
BUDGET_LOOKS = (*LOOKS, 18, 24, 36, 48, 72, 96, 144, 192, 288, 384)
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


@dataclass(frozen=True)
class PlanContext:
    """Facts that a plan is made from."""

    eligibility: Eligibility = field(default_factory=Eligibility)
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
    if twice := [label for label in labels if labels.count(label) > 1]:
        raise UserError(
            f"two contenders are called {twice[0]!r}: give each library and settings its own name"
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
        counters=not options.no_counters,
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
            launch for path in paths for launch in launches_on(plan, context.eligibility, path)
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
    benchmarks = map(plan.benchmark, plan.variants)
    for benchmark in itertools.filterfalse(plan.sizes_of, benchmarks):
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
    for path, benchmark in itertools.product(between_ranks(paths), used):
        names |= {needed.name for needed, _ in needed_ceilings(path, benchmark, benchmarks)}
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
    new = range(len(plan.contenders), len(grown.contenders))
    launches = [
        msgspec.structs.replace(launch, since=since)
        for path in grown.paths
        for launch in launches_of(new, grown, eligibility, path)
    ]
    return Addition(contenders=[*contenders], variants=[*variants], launches=launches)


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
    rates = [benchmark for benchmark in plan.benchmarks if benchmark.main.better == "higher"]
    if "measured" not in {benchmark.ceiling for benchmark in rates}:
        return {}
    pairs = [path for path in between_ranks(plan.paths) if path.is_pair]
    plateaus = {path.id: _plateau(path) for path in pairs}
    return {path: plateau for path, plateau in plateaus.items() if plateau > max(plan.sizes)}


def _plateau(path: DataPath) -> int:
    if path.transport == "network":
        return NETWORK_PLATEAU
    if path.shares_gpu:
        return SAME_GPU_PLATEAU
    return GPU_PLATEAU if set(path.memories) == {"gpu"} else HOST_PLATEAU


def _limit(plan: Plan) -> float:
    costs = [guess_cost(plan, launch) for launch in plan.launches]
    longest = max((cost.seconds(plan.slot_ms, LEAST_SAMPLES) for cost in costs), default=0.0)
    return max(LEAST_LIMIT_SECONDS, LIMIT_FACTOR * longest)
