# SPDX-License-Identifier: Apache-2.0
"""The variants that a study measures on each path: benchmarks x axes x the buffers of its paths."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import msgspec

from nearpeak.errors import UserError
from nearpeak.launching.describe import Description, Variant, parse_variant
from nearpeak.launching.paths import unfit
from nearpeak.libraries.families import all_families, is_native
from nearpeak.libraries.library import Contender
from nearpeak.machine.gpu_paths import NEAR_SAME_GPU, NODE_UNKNOWN_SAME_GPU
from nearpeak.planning.options import Options
from nearpeak.planning.usual import SIZES, is_measured_on, is_usual
from nearpeak.terms.awareness import Awareness
from nearpeak.terms.axes import DIRECT, STAGING, staging
from nearpeak.terms.benchmarks import Benchmark, named
from nearpeak.terms.buffers import default_buffers, in_gpu, needs_gpu, rank_ends
from nearpeak.terms.identity import Who
from nearpeak.terms.outcomes import GOOD, NOT_TRIED
from nearpeak.terms.path import DataPath

PACK, OWN_KERNEL = "pack", "kernel"  # an axis of datatypes, and the value of those that we pack


@dataclass(frozen=True)
class Selection:
    """The variants and the paths of a study that has time for all of it."""

    variants: list[Variant]
    paths: list[DataPath]  # those that variants run on, and those for ceilings


def asked_for(
    options: Options, described: Description, paths: Sequence[DataPath], within: Sequence[DataPath]
) -> Selection:
    """Selects what was asked for, with these paths; ceilings come from the paths `within` this
    host."""
    named_so = [*described.usual(_of_families(described, options)), *options.benchmarks]
    wanted = named_so or described.defaults
    variants = choose_variants(described, wanted, options.buffers, paths, options.nothing_asked)
    used = [
        path for path in paths if path.transport == "local" or _is_used(path, variants, described)
    ]
    return Selection(variants, [*used, *for_ceilings(used, within, variants, described)])


def _of_families(described: Description, options: Options) -> list[str]:
    """Returns the benchmarks of the chosen families, except those that have none of the sizes."""
    names = described.of_families(options.operations)
    sizes = options.sizes or SIZES
    by_name = {benchmark.name: benchmark for benchmark in described.benchmarks}
    return [
        name for name in names if not by_name[name].over_bytes or by_name[name].sizes(sizes)
    ] or names


def _is_used(path: DataPath, variants: Sequence[Variant], described: Description) -> bool:
    """True if a variant runs on a path."""
    return any(is_measured_on(path, _benchmark_of(described, v), v.buffers) for v in variants)


def for_ceilings(
    paths: Sequence[DataPath],
    candidates: Sequence[DataPath],
    variants: Sequence[Variant],
    described: Description,
) -> list[DataPath]:
    """Returns the paths whose ceilings figures are compared with and that are not measured
    themselves.

    For paths between more ranks, that is the first pair within each, as the nearest come first; for
    applications, the memory that their cells are in.
    """
    bound = [v for v in variants if _benchmark_of(described, v).ceiling == "bound"]
    ceilings: dict[str, DataPath] = {}
    for path in paths:
        if path.transport == "local" or len(path.ends) == 2 or not _is_used(path, bound, described):
            continue
        within = [inner for inner in candidates if len(inner.ends) == 2 and path.holds(inner)]
        if within and not any(path.holds(inner) for inner in paths if len(inner.ends) == 2):
            ceilings[within[0].id] = msgspec.structs.replace(within[0], ceilings_only=True)
    applications = [v for v in variants if not _benchmark_of(described, v).over_bytes]
    in_gpus = any(in_gpu(v.buffers) for v in applications)
    if in_gpus and not any(path.shares_gpu and not path.mps for path in paths):
        for path in candidates:
            if path.shares_gpu and not path.mps and len(path.ends) == 2:
                ceilings[path.id] = msgspec.structs.replace(path, ceilings_only=True)
                break
    if any(not in_gpu(v.buffers) for v in applications):
        used = [end for path in paths for end in path.ends if end.memory == "host"]
        measured = {path.id for path in paths}
        for path in candidates:
            nodes = {end.numa_node for end in path.ends}
            within_node = path.transport == "local" and len(nodes) == 1
            if (
                within_node
                and path.id not in measured
                and any(end.numa_node in nodes for end in used)
            ):
                ceilings[path.id] = path
    return list(ceilings.values())


def _benchmark_of(described: Description, variant: Variant) -> Benchmark:
    return named(described.benchmarks, variant.benchmark)


def choose_variants(
    described: Description,
    benchmarks: Sequence[str],
    buffers: Sequence[str],
    paths: Sequence[DataPath],
    usual: bool = False,
) -> list[Variant]:
    """Returns each benchmark asked for with each kind of buffers: those asked for, else each path's
    own.

    `usual`: the benchmarks are the default ones, so that those that are not usual on a path are
    left out there. UserError when buffers, a benchmark, or one that stages, fit none of the paths.
    """
    between = [path for path in paths if path.transport != "local"]
    for kind in buffers:
        if not any(rank_ends(path, kind) for path in between):
            raise UserError(f"buffers {kind} {unfit(kind, between)}")
    by_buffers: dict[str, list[Variant]] = {}
    for text in benchmarks:
        variant = parse_variant(described, text)
        _check_memory(described, text, buffers)
        benchmark = named(described.benchmarks, variant.benchmark)
        staged = staging(variant.axes) is not None
        if staged and not any(end.gpu for path in between for end in path.ends):
            raise UserError(f"{text} stages device buffers: they {unfit('D,D', between)}")
        if not any(benchmark.ranks.fits(len(path.ends)) for path in between):
            names = ", ".join(f"{path.id} ({len(path.ends)})" for path in between)
            raise UserError(
                f"{benchmark.name} runs on {benchmark.ranks.text}, and none of the paths {names} "
                "has so many: choose others"
            )
        for path in between:
            if usual and not is_usual(path, benchmark):
                continue
            for kind in buffers or default_buffers(path, benchmark.symmetric):
                adapted = parse_variant(described, text, host=not needs_gpu(kind))
                fits = takes(benchmark, adapted, kind) and (in_gpu(kind) or not staged)
                if fits and is_measured_on(path, benchmark, kind):
                    by_buffers.setdefault(kind, []).append(
                        msgspec.structs.replace(adapted, buffers=kind)
                    )
    variants = [variant for same in by_buffers.values() for variant in same]
    return [variant for number, variant in enumerate(variants) if variant not in variants[:number]]


def takes(benchmark: Benchmark, variant: Variant, buffers: str) -> bool:
    """True if the axes of a variant take such buffers."""
    return all(
        axis.takes(variant.axes[axis.name], not needs_gpu(buffers)) for axis in benchmark.axes
    )


def _check_memory(described: Description, text: str, buffers: Sequence[str]) -> None:
    """UserError where a benchmark asked for takes none of the buffers that were asked for."""
    for kind in buffers:
        variant = parse_variant(described, text, host=not needs_gpu(kind))
        if takes(named(described.benchmarks, variant.benchmark), variant, kind):
            return
    if buffers:
        raise UserError(
            f"{text} takes ordinary host memory, and not buffers {', '.join(buffers)}: "
            "choose others"
        )


def tried_as(benchmark: Benchmark, variant: Variant, benchmarks: Iterable[Benchmark]) -> str:
    """Returns the operation that shows whether a library can be handed a variant's buffers: its
    benchmark. If the program packs a datatype itself, and for applications, it is a message of
    contiguous bytes."""
    if not benchmark.over_bytes:
        return next(benchmark.name for benchmark in benchmarks if benchmark.one_message)
    packs = variant.axes.get(PACK) == OWN_KERNEL
    return benchmark.bound_by if packs and benchmark.bound_by is not None else benchmark.name


def _is_pinned(variant: Variant) -> bool:
    return "P" in variant.buffers.split(",")


def is_fallback(path: DataPath) -> bool:
    """True if a path is only for contenders that need a GPU in the host's rank, where the ranks
    cannot have one each."""
    return path.id in (NEAR_SAME_GPU, NODE_UNKNOWN_SAME_GPU) and not (path.variant_of or path.named)


def has_gpu_switch(contender: Contender) -> bool:
    """True if a library supports GPUs only with a switch that neither the settings nor the user's
    shell set: the path decides."""
    library, settings = contender.library, contender.settings
    if is_native(library) or library.layer:
        return False
    family = all_families().get(library.family)
    given = {*settings.env, *settings.unset, *os.environ}
    return bool(family and family.gpu and given.isdisjoint(family.gpu.env))


def has_gpu_price(contender: Contender) -> bool:
    """True if GPU support may slow a library's host messages down: if it can be switched on, and
    with the layer."""
    return contender.library.layer or has_gpu_switch(contender)


class GpuSupport:
    """The contenders' support of device buffers, and its consequences for a plan."""

    def __init__(self, outcomes: Sequence[Awareness], described: Description) -> None:
        tried = [((Who(it.library, it.settings), it.buffers, it.operation), it) for it in outcomes]
        bad = [(trial, it) for trial, it in tried if it.status not in (GOOD, NOT_TRIED)]
        self._wrong = {trial for trial, it in bad if not it.host_device}
        # An operation that fails with a GPU in each rank too does not need one.
        bare = {trial for trial, it in bad if it.host_device == "none"}
        self._needs_gpu = bare - self._wrong
        self._unsafe = {trial for trial, it in tried if it.after_others}
        self._benchmarks = {benchmark.name: benchmark for benchmark in described.benchmarks}

    def takes(self, contender: Contender, variant: Variant) -> bool:
        """True if a contender can be handed a variant's buffers."""
        return self._trial(contender, variant) not in self._wrong

    def takes_on(self, contender: Contender, variant: Variant, path: DataPath) -> bool:
        """True if a contender is measured on a path, by what its ranks of host memory hold. Without
        a GPU: if it works so. Sharing a GPU for want of another: if it does not, or if the memory
        is a driver's. With GPU support in host memory: if that may cost anything."""
        if path.gpu_support:
            return path.named or has_gpu_price(contender)
        needs_gpu = self._trial(contender, variant) in self._needs_gpu or _is_pinned(variant)
        if path.host_device == "none":
            return not needs_gpu
        return needs_gpu or not is_fallback(path)

    def needed(self, paths: Sequence[DataPath], variants: Sequence[Variant]) -> list[DataPath]:
        """Returns the paths without the fallbacks that nobody needs."""
        needed = self._needs_gpu or any(map(_is_pinned, variants))
        return [path for path in paths if needed or not is_fallback(path)]

    def alone(self, contender: Contender, variant: Variant) -> bool:
        """True if a contender works in a variant alone, and did not after others."""
        return self._trial(contender, variant) in self._unsafe

    def _trial(self, contender: Contender, variant: Variant) -> tuple[Who, str, str]:
        benchmarks = self._benchmarks
        operation = tried_as(benchmarks[variant.benchmark], variant, benchmarks.values())
        return contender.who, variant.buffers, operation

    def with_staging(
        self, contenders: Sequence[Contender], variants: Sequence[Variant]
    ) -> list[Variant]:
        """Returns the variants, and for those that a contender cannot run, all ways of staging."""
        extended = list(variants)
        for variant in variants:
            if all(self.takes(contender, variant) for contender in contenders):
                continue
            axes = {axis.name: axis.values for axis in self._benchmarks[variant.benchmark].axes}
            for value in axes.get(STAGING, []):
                staged = msgspec.structs.replace(variant, axes={**variant.axes, STAGING: value})
                if value != DIRECT and staged not in extended:
                    extended.append(staged)
        return extended

    def runs(self, contender: Contender, variant: Variant, requested: Sequence[Variant]) -> bool:
        """True if a contender is measured in a variant; `requested`: the variants that the user
        asked for."""
        if staging(variant.axes) is None:
            return self.takes(contender, variant)
        return variant in requested or not self.takes(contender, variant)
