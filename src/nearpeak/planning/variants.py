# SPDX-License-Identifier: Apache-2.0
"""The variants that a study measures on each path: benchmarks x axes x the buffers of its paths."""

import itertools
import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import msgspec

from nearpeak.errors import UserError
from nearpeak.grouping import grouped
from nearpeak.launching.describe import Description, Variant, parse_variant
from nearpeak.launching.paths import between_ranks, unfit
from nearpeak.libraries.families import all_families, is_native
from nearpeak.libraries.library import Contender
from nearpeak.machine.gpu_paths import NEAR_SAME_GPU, NODE_UNKNOWN_SAME_GPU
from nearpeak.planning.options import Options
from nearpeak.planning.usual import SIZES, is_measured_on, is_usual
from nearpeak.terms.awareness import Awareness
from nearpeak.terms.axes import DIRECT, STAGING, staging
from nearpeak.terms.benchmarks import Benchmark, by_name, named
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
    used = [path for path in paths if path.without_mpi or _is_used(path, variants, described)]
    return Selection(variants, [*used, *for_ceilings(used, within, variants, described)])


def _of_families(described: Description, options: Options) -> list[str]:
    """Returns the benchmarks of the chosen families, except those that have none of the sizes."""
    names = described.of_families(options.operations)
    benchmarks = [named(described.benchmarks, name) for name in names]
    sizes = options.sizes or SIZES
    return [it.name for it in benchmarks if not it.over_bytes or it.sizes(sizes)] or names


def _is_used(path: DataPath, variants: Sequence[Variant], described: Description) -> bool:
    """True if a variant runs on a path."""
    return any(is_measured_on(path, described.benchmark(v), v.buffers) for v in variants)


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
    bound = [v for v in variants if described.benchmark(v).ceiling == "bound"]
    wide = [path for path in between_ranks(paths) if not path.is_pair]
    bounded = [path for path in wide if _is_used(path, bound, described)]
    applications = {in_gpu(v.buffers) for v in variants if not described.benchmark(v).over_bytes}
    ceilings = [*_first_pairs(bounded, paths, candidates)]
    if True in applications and not any(map(_is_shared_gpu, paths)):
        pairs = (path for path in candidates if path.is_pair)
        ceilings += itertools.islice(filter(_is_shared_gpu, pairs), 1)
    ceilings = [msgspec.structs.replace(path, ceilings_only=True) for path in ceilings]
    if False in applications:
        ceilings += _memories(paths, candidates)
    return list({path.id: path for path in ceilings}.values())


def _first_pairs(
    wide: Sequence[DataPath], paths: Sequence[DataPath], candidates: Sequence[DataPath]
) -> Iterator[DataPath]:
    """Yields the first pair within each wide path within which no pair is measured."""
    measured = [path for path in paths if path.is_pair]
    pairs = [path for path in candidates if path.is_pair]
    for path in wide:
        if not any(map(path.holds, measured)):
            yield from itertools.islice(filter(path.holds, pairs), 1)


def _is_shared_gpu(path: DataPath) -> bool:
    return path.shares_gpu and not path.mps


def _memories(paths: Sequence[DataPath], candidates: Sequence[DataPath]) -> Iterator[DataPath]:
    """Yields the memories of NUMA nodes that have host memory of ranks."""
    used = {end.numa_node for path in paths for end in path.ends if end.memory == "host"}
    measured = {path.id for path in paths}
    for path in candidates:
        nodes = path.numa_nodes
        new = path.is_local and path.id not in measured
        if new and len(nodes) == 1 and nodes <= used:
            yield path


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
    between = between_ranks(paths)
    for kind in buffers:
        if not any(rank_ends(path, kind) for path in between):
            raise UserError(f"buffers {kind} {unfit(kind, between)}")
    by_buffers: dict[str, list[Variant]] = defaultdict(list)
    checked = [(text, _checked(described, text, buffers, between)) for text in benchmarks]
    for (text, benchmark), path in itertools.product(checked, between):
        if usual and not is_usual(path, benchmark):
            continue
        for kind in buffers or default_buffers(path, benchmark.symmetric):
            variant = _with_buffers(described, text, kind)
            fits = _takes(benchmark, variant) and is_measured_on(path, benchmark, kind)
            staged = _stages(variant) and not in_gpu(kind)
            if fits and not staged and variant not in by_buffers[kind]:
                by_buffers[kind].append(variant)
    return list(itertools.chain(*by_buffers.values()))


def _checked(
    described: Description, text: str, buffers: Sequence[str], between: Sequence[DataPath]
) -> Benchmark:
    """Returns the benchmark asked for; UserError where it fits none of the buffers asked for, or of
    the paths."""
    variant = parse_variant(described, text)
    benchmark = described.benchmark(variant)
    kinds = (_with_buffers(described, text, kind) for kind in buffers)
    if buffers and not any(_takes(benchmark, variant) for variant in kinds):
        raise UserError(
            f"{text} takes ordinary host memory, and not buffers {', '.join(buffers)}: "
            "choose others"
        )
    if _stages(variant) and not any(end.gpu for path in between for end in path.ends):
        raise UserError(f"{text} stages device buffers: they {unfit('D,D', between)}")
    if not any(benchmark.ranks.fits(len(path.ends)) for path in between):
        names = ", ".join(f"{path.id} ({len(path.ends)})" for path in between)
        raise UserError(
            f"{benchmark.name} runs on {benchmark.ranks.text}, and none of the paths {names} "
            "has so many: choose others"
        )
    return benchmark


def _with_buffers(described: Description, text: str, buffers: str) -> Variant:
    variant = parse_variant(described, text, host=not needs_gpu(buffers))
    return msgspec.structs.replace(variant, buffers=buffers)


def _stages(variant: Variant) -> bool:
    return staging(variant.axes) is not None


def _takes(benchmark: Benchmark, variant: Variant) -> bool:
    """True if the axes of a variant take its buffers."""
    host = not needs_gpu(variant.buffers)
    return all(
        axis.takes(variant.axes.get(axis.name, axis.default), host) for axis in benchmark.axes
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


Trial = tuple[Who, str, str]  # also its buffers and its operation


def _trial_of(outcome: Awareness) -> Trial:
    return Who(outcome.library, outcome.settings), outcome.buffers, outcome.operation


class GpuSupport:
    """The contenders' support of device buffers, and its consequences for a plan."""

    def __init__(self, outcomes: Sequence[Awareness], described: Description) -> None:
        bad = [it for it in outcomes if it.status not in (GOOD, NOT_TRIED)]
        by_device = grouped(bad, lambda outcome: outcome.host_device)
        self._wrong = set(map(_trial_of, by_device.get("", [])))
        # An operation that fails with a GPU in each rank too does not need one.
        self._needs_gpu = set(map(_trial_of, by_device.get("none", []))) - self._wrong
        self._unsafe = {_trial_of(outcome) for outcome in outcomes if outcome.after_others}
        self._benchmarks = by_name(described.benchmarks)

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

    def _trial(self, contender: Contender, variant: Variant) -> Trial:
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
        if not _stages(variant):
            return self.takes(contender, variant)
        return variant in requested or not self.takes(contender, variant)
