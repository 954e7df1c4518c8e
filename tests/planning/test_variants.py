# SPDX-License-Identifier: Apache-2.0
"""Variants of a study with GPUs: buffers by path, staging where a library is not GPU-aware."""

import os
import sys
from types import ModuleType

import msgspec
import pytest

from nearpeak.errors import UserError
from nearpeak.launching.describe import Description, Variant, describe
from nearpeak.launching.paths import paths_within, select_paths
from nearpeak.libraries.library import Settings
from nearpeak.machine.machine import Machine
from nearpeak.planning.usual import is_measured_on, is_usual
from nearpeak.planning.variants import (
    GpuSupport,
    choose_variants,
    for_ceilings,
    has_gpu_switch,
)
from nearpeak.terms.awareness import Awareness
from nearpeak.terms.benchmarks import Axis, Benchmark, Metric, RankRule, X

ANY = Benchmark("any", [Metric("any", "us", "lower")], RankRule("at least", 2))
APPLICATION = Benchmark(
    "app", [Metric("app", "us", "lower")], RankRule("at least", 1), x=X("side", "cells", [64])
)


@pytest.fixture
def described(standins: ModuleType, tmp_path: object) -> Description:
    program = tmp_path / "program"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -S {standins.FAKE} "$@"\n')
    program.chmod(0o755)
    return describe(program, dict(os.environ))


def test_what_could_not_be_tried_is_measured_all_the_same(
    standins: ModuleType, described: Description
) -> None:
    variants = choose_variants(described, ["latency"], [], [standins.gpu_path()])
    known = GpuSupport([tried("a", "not tried")], described)
    assert known.with_staging([standins.contender("a")], variants) == variants
    assert known.takes(standins.contender("a"), variants[0])


def tried(name: str, status: str, *, buffers: str = "D,D", operation: str = "latency") -> Awareness:
    return Awareness(
        library=name,
        settings="default",
        buffers=buffers,
        operation=operation,
        status=status,
        message="",
        command="",
    )


def test_each_path_brings_its_buffers(standins: ModuleType, described: Description) -> None:
    paths = [
        standins.data_path(),
        standins.gpu_path(),
        standins.gpu_path("host-gpu near"),
        standins.data_path("host-memory node0", "local"),
    ]
    found = choose_variants(described, ["latency", "bw"], [], paths)
    assert [(variant.benchmark, variant.buffers) for variant in found] == [
        ("latency", "H,H"),
        ("bw", "H,H"),
        ("latency", "D,D"),
        ("bw", "D,D"),
        ("latency", "H,D"),
        ("bw", "H,D"),
        ("bw", "D,H"),  # what it sends goes one way
    ]


def test_buffers_asked_for_are_the_only_ones(standins: ModuleType, described: Description) -> None:
    paths = [standins.data_path(), standins.gpu_path()]
    found = choose_variants(described, ["latency"], ["M,M"], paths)
    assert [variant.buffers for variant in found] == ["M,M"]
    with pytest.raises(UserError, match="buffers H,D fit none of the paths host-host same-numa"):
        choose_variants(described, ["latency"], ["H,D"], paths)


def test_without_a_gpu_nothing_is_staged(standins: ModuleType, described: Description) -> None:
    said = "latency:staging=pinned stages device buffers: they need a GPU, and none of the paths"
    with pytest.raises(UserError, match=said):
        choose_variants(described, ["latency:staging=pinned"], [], [standins.data_path()])


def test_what_a_library_cannot_take_is_staged(standins: ModuleType, described: Description) -> None:
    good, bad = standins.contender("good"), standins.contender("bad")
    (variant,) = choose_variants(described, ["latency"], [], [standins.gpu_path()])
    known = GpuSupport(
        [tried("good", "ok"), tried("bad", "crashed"), tried("good", "crashed", operation="bcast")],
        described,
    )
    direct, staged = known.with_staging([good, bad], [variant])
    assert direct == variant
    assert staged.axes == {**variant.axes, "staging": "pinned"}
    runs = {
        (who.library.name, other.axes["staging"]): known.runs(who, other, [variant])
        for who in (good, bad)
        for other in (direct, staged)
    }
    assert runs == {
        ("good", "none"): True,
        ("good", "pinned"): False,
        ("bad", "none"): False,
        ("bad", "pinned"): True,
    }
    assert known.with_staging([good], [variant]) == [variant]


def test_staging_asked_for_is_measured_beside_the_librarys_own_way(
    standins: ModuleType, described: Description
) -> None:
    asked = choose_variants(
        described, ["latency", "latency:staging=pinned"], [], [standins.gpu_path()]
    )
    known = GpuSupport([tried("good", "ok")], described)
    assert [known.runs(standins.contender("good"), variant, asked) for variant in asked] == [
        True,
        True,
    ]


def test_a_library_is_judged_by_the_benchmark_itself(
    standins: ModuleType, described: Description
) -> None:
    """What crashes in another benchmark, or in an operation that has none, says nothing of it."""
    latency, allreduce = choose_variants(
        described, ["latency", "allreduce"], [], [standins.gpu_path()]
    )
    found = [tried("a", "crashed", operation=name) for name in ("allreduce", "put")]
    known = GpuSupport(found, described)
    assert known.takes(standins.contender("a"), latency)
    assert not known.takes(standins.contender("a"), allreduce)


def test_what_the_program_packs_itself_is_judged_by_what_bounds_it(
    standins: ModuleType, described: Description
) -> None:
    (latency,) = (benchmark for benchmark in described.benchmarks if benchmark.name == "latency")
    vector = msgspec.structs.replace(latency, name="vector", bound_by="latency")
    described = msgspec.structs.replace(described, benchmarks=[*described.benchmarks, vector])
    known = GpuSupport([tried("a", "crashed", operation="vector")], described)
    takes = {
        pack: known.takes(
            standins.contender("a"),
            Variant(benchmark="vector", axes={"pack": pack}, buffers="D,D"),
        )
        for pack in ("direct", "mpi", "kernel")
    }
    assert takes == {"direct": False, "mpi": False, "kernel": True}


def test_ranks_that_no_path_has_are_bad_input(standins: ModuleType, described: Description) -> None:
    said = "bw runs on exactly 2 ranks, and none of the paths gpu-all 3"
    with pytest.raises(UserError, match=said):
        choose_variants(described, ["bw"], [], [standins.wide_path(3, gpus=True)])
    (found,) = choose_variants(described, ["allreduce"], [], [standins.wide_path(3, gpus=True)])
    assert found.buffers == "D,D"


@pytest.fixture
def with_windows(described: Description) -> Description:
    """With a one-sided benchmark."""
    latency = next(benchmark for benchmark in described.benchmarks if benchmark.name == "latency")
    window = Axis(
        "win",
        ["allocated", "created", "dynamic"],
        "allocated",
        host_only=["allocated"],
        usual=["allocated", "created"],
    )
    put = msgspec.structs.replace(latency, name="put", axes=[window], default=True)
    return msgspec.structs.replace(described, benchmarks=[*described.benchmarks, put])


def test_a_study_measures_by_itself_all_usual_values_of_an_axis(
    standins: ModuleType, with_windows: Description
) -> None:
    assert with_windows.usual(["latency", "put"]) == ["latency", "put", "put:win=created"]
    assert with_windows.defaults[-2:] == ["put", "put:win=created"]
    paths = [standins.data_path(), standins.gpu_path()]
    found = choose_variants(with_windows, with_windows.usual(["put"]), [], paths)
    assert [(variant.axes["win"], variant.buffers) for variant in found] == [
        ("allocated", "H,H"),
        ("created", "H,H"),
        ("created", "D,D"),
    ]
    [asked, _] = choose_variants(with_windows, ["put"], [], paths)
    assert asked.axes == {"win": "allocated"}


def test_what_takes_ordinary_memory_alone_is_measured_where_that_is(
    standins: ModuleType, with_windows: Description
) -> None:
    paths = [standins.data_path(), standins.gpu_path()]
    [variant] = choose_variants(with_windows, ["put:win=allocated"], [], paths)
    assert variant.buffers == "H,H"
    with pytest.raises(UserError, match="put:win=allocated takes ordinary host memory"):
        choose_variants(with_windows, ["put:win=allocated"], ["D,D"], paths)


def test_applications_are_held_against_the_memory_that_they_are_in(dgx: Machine) -> None:
    described = Description(schema=1, program="", version="", benchmarks=[ANY, APPLICATION])
    known = paths_within(dgx)

    def beside(path: str, *variants: Variant) -> list[str]:
        paths = select_paths(dgx, [], path.split(","))
        return [ceiling.id for ceiling in for_ceilings(paths, known, variants, described)]

    on_host = Variant(benchmark="app", axes={})
    on_device = Variant(benchmark="app", axes={}, buffers="D")
    assert beside("host x1", on_host) == ["host-memory node0"]
    assert beside("host-host cross-numa", on_host) == ["host-memory node0", "host-memory node1"]
    assert beside("host x1,host-memory node0", on_host) == []
    assert beside("gpu x1", on_device) == ["gpu-gpu same-gpu"]
    assert beside("gpu x1,gpu-gpu same-gpu", on_device) == []
    assert beside("host x1", Variant(benchmark="any", axes={})) == []


def test_who_needs_a_gpu_in_each_rank_is_measured_where_both_hold_one(
    standins: ModuleType, described: Description
) -> None:
    bare = standins.gpu_path("host-gpu near", device="-")
    same = standins.gpu_path("host-gpu near same-gpu", device="GPU-1")
    variants = choose_variants(described, ["latency"], ["H,D"], [bare, same])
    (variant,) = variants
    fine = GpuSupport([], described)
    assert fine.needed([bare, same], variants) == [bare]
    refusal = msgspec.structs.replace(tried("a", "crashed", buffers="H,D"), host_device="none")
    known = GpuSupport([refusal], described)
    assert known.needed([bare, same], variants) == [bare, same]
    assert known.takes(standins.contender("a"), variant)  # it is no matter of buffers
    runs = {
        (name, path.id): known.takes_on(standins.contender(name), variant, path)
        for name in "ab"
        for path in (bare, same)
    }
    assert runs == {
        ("a", "host-gpu near"): False,
        ("a", "host-gpu near same-gpu"): True,
        ("b", "host-gpu near"): True,
        ("b", "host-gpu near same-gpu"): False,
    }
    # Asked for, or beside a rank with its own, it is measured for all.
    for path in (
        msgspec.structs.replace(same, named=True),
        msgspec.structs.replace(same, variant_of="host-gpu near"),
    ):
        assert known.takes_on(standins.contender("b"), variant, path)
    # Pinned memory needs a GPU.
    pinned = choose_variants(described, ["latency"], ["P,D"], [bare, same])
    assert fine.needed([bare, same], pinned) == [bare, same]
    assert fine.takes_on(standins.contender("b"), pinned[0], same)


@pytest.mark.parametrize(
    ("family", "layer", "measured"),
    [
        ("intel", False, True),
        ("mpich", False, True),
        ("mpich", True, True),
        ("openmpi", False, False),
    ],
)
def test_gpu_support_is_measured_of_libraries_that_can_switch_it(
    standins: ModuleType, described: Description, family: str, layer: bool, measured: bool
) -> None:
    host = standins.data_path()
    support = msgspec.structs.replace(host, id=f"{host.id} gpu-support", variant_of=host.id)
    (variant,) = choose_variants(described, ["latency"], ["H,H"], [host])
    plain = standins.contender("a")
    library = msgspec.structs.replace(plain.library, family=family, layer=layer)
    contender = msgspec.structs.replace(plain, library=library)
    known = GpuSupport([], described)
    assert known.takes_on(contender, variant, support) is measured
    assert known.takes_on(contender, variant, host)
    assert known.takes_on(contender, variant, msgspec.structs.replace(support, named=True))
    # Who says it himself has it on both paths, or on none.
    said = Settings(env={"I_MPI_OFFLOAD": "0", "MPIR_CVAR_ENABLE_GPU": "0"})
    assert not has_gpu_switch(msgspec.structs.replace(contender, settings=said))


def test_few_benchmarks_show_what_gpu_support_costs(
    standins: ModuleType, described: Description
) -> None:
    host = standins.data_path()
    support = msgspec.structs.replace(host, id=f"{host.id} gpu-support", variant_of=host.id)
    usual = {each.name for each in described.benchmarks if is_usual(support, each)}
    assert usual == {"latency", "bw"}
    allreduce = next(each for each in described.benchmarks if each.name == "allreduce")
    assert not is_usual(support, allreduce)
    collective = msgspec.structs.replace(allreduce, family="collective", default=True)
    assert is_usual(support, collective)
    bibw = next(each for each in described.benchmarks if each.name == "bibw")
    assert is_measured_on(host, bibw, "H,H")
    assert not is_measured_on(support, bibw, "H,H")


def test_one_message_shows_what_sharing_a_gpu_costs(
    standins: ModuleType, described: Description
) -> None:
    own = standins.gpu_path("host-gpu near", device="GPU-0")
    same = standins.gpu_path("host-gpu near same-gpu", device="GPU-1")
    same = msgspec.structs.replace(same, variant_of=own.id)
    known = {benchmark.name: benchmark for benchmark in described.benchmarks}
    usual = [[is_usual(path, known[name]) for path in (own, same)] for name in ("latency", "bw")]
    assert usual == [[True, True], [True, False]]
