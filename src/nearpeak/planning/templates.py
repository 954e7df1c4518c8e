# SPDX-License-Identifier: Apache-2.0
"""The launches of a block: ceilings, and contenders in variants, grouped into few launches."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from nearpeak.launching.describe import Variant
from nearpeak.launching.paths import between_gpus
from nearpeak.libraries.families import is_ceiling, is_native, mode_of
from nearpeak.libraries.library import Contender
from nearpeak.planning.ceilings import ceiling_benchmarks, ceiling_launches
from nearpeak.planning.plan import Group, Plan, Template
from nearpeak.planning.usual import is_measured_on, is_usual
from nearpeak.terms.axes import USUAL_STATE, State, staging, state_of
from nearpeak.terms.benchmarks import Benchmark
from nearpeak.terms.buffers import HOST, ceiling_buffers, default_buffers, is_measured, rank_ends
from nearpeak.terms.path import DataPath

Runs = Callable[[Contender, Variant], bool]
RunsOn = Callable[[Contender, Variant, DataPath], bool]
Numbered = tuple[int, Variant]  # with its index into Plan.variants


@dataclass(frozen=True)
class Eligibility:
    """The contenders that are measured in each variant."""

    runs: Runs = lambda _contender, _variant: True  # on any path
    # On a path, by its behaviour with a rank that holds no GPU.
    runs_on: RunsOn = lambda _contender, _variant, _path: True
    # In launches of their own, as they are not safe after others.
    alone: Runs = lambda _contender, _variant: False


def launches_on(plan: Plan, eligibility: Eligibility, path: DataPath) -> Iterator[Template]:
    """Yields the launches of a block on a path: its ceilings, and every contender in every
    variant."""
    yield from _ceilings(plan, path, _fitting(plan, path))
    yield from launches_of(range(len(plan.contenders)), plan, eligibility, path)


def launches_of(
    contenders: Iterable[int], plan: Plan, eligibility: Eligibility, path: DataPath
) -> Iterator[Template]:
    """Yields the launches of contenders, as indexes into Plan.contenders, on a path."""
    fitting = _fitting(plan, path)
    for number in contenders:
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
    if path.is_loopback:
        yield from _loopback(plan, path)
        return
    held = [
        (state_of(variant.axes), buffers)
        for _, variant in fitting
        for buffers in ceiling_launches(path, variant, plan.benchmarks)
    ]
    # GPUs of two hosts are reached only over RDMA adapters.
    ceilings = set(held) if not path.is_local else {(USUAL_STATE, HOST)}
    groups = [Group(axes=dict(state), buffers=buffers) for state, buffers in sorted(ceilings)]
    if path.between_hosts:  # each has ports of its own
        launches = [[group] for group in groups if group.buffers == HOST]
    else:
        launches = [groups][: len(groups)]
    for together in launches:
        yield Template(role="ceiling", path=path.id, groups=tuple(together))
    if plan.perftest and path.between_hosts and path.adapter:
        # perftest uses the same buffers again and again, and looks at none of them.
        for buffers in sorted({buffers for state, buffers in held if state == USUAL_STATE}):
            group = Group(axes=dict(USUAL_STATE), buffers=buffers)
            yield Template(role="ceiling", path=path.id, groups=(group,), adapter=path.adapter)


def _loopback(plan: Plan, path: DataPath) -> Iterator[Template]:
    """Yields the ceiling of an adapter that sends to itself, by perftest. The launcher of an MPI
    library starts its two ends."""
    (buffers,) = default_buffers(path, symmetric=True)
    started = any(not is_native(contender.library) for contender in plan.contenders)
    if plan.perftest and started and ceiling_benchmarks(plan, path, buffers):
        group = Group(axes=dict(USUAL_STATE), buffers=buffers)
        yield Template(role="ceiling", path=path.id, groups=(group,), adapter=path.adapter)


def _of_contender(
    plan: Plan, eligibility: Eligibility, path: DataPath, number: int, fitting: Sequence[Numbered]
) -> Iterator[Template]:
    if path.ceilings_only or path.without_mpi:
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
    usual = benchmark.defaults | dict(state_of(variant.axes))
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
        ends = rank_ends(path, variant.buffers) or path.ends
        first = ends[0].host if path.between_hosts else None
        launches[benchmark.threads, application, first].append((index, variant))
    return launches.values()


def _groups(plan: Plan, variants: Sequence[Numbered]) -> list[Group]:
    """Groups variants by their buffers, the state of these, and the sizes; no benchmark twice."""
    groups: dict[tuple[str, State, bool, int], list[int]] = defaultdict(list)
    used: Counter[object] = Counter()
    for index, variant in variants:
        shared = variant.buffers, state_of(variant.axes), plan.has_few(index)
        key = (*shared, used[shared, variant.benchmark])
        groups[key].append(index)
        used[shared, variant.benchmark] += 1
    return [
        Group(buffers=buffers, axes=dict(state), variants=tuple(members))
        for (buffers, state, *_), members in groups.items()
    ]
