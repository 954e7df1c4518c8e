# SPDX-License-Identifier: Apache-2.0
"""Whole studies of GPU paths with a real MPI library, the devices being the fake driver's.

Where the CPU can touch their memory (`reachable`) any library stands for a GPU-aware one; where it
cannot, as with a real device, one that is not crashes.
"""

import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import ModuleType

import pytest
from fake_gpus import UUIDS, with_fake_gpus

from nearpeak.errors import UserError
from nearpeak.findings.build import build_results
from nearpeak.launching import awareness, single
from nearpeak.launching.programs import TOOLS
from nearpeak.launching.single_launch import LaunchFailed
from nearpeak.libraries import catalogue, nccl
from nearpeak.libraries.build import compiler, kit_for, preloaded_sources
from nearpeak.libraries.discover import resolve
from nearpeak.libraries.rules import Range, Table, rules_text
from nearpeak.machine.discover import discover
from nearpeak.planning import prepare
from nearpeak.planning.gate import Preparation
from nearpeak.planning.options import LibraryChoice, Options
from nearpeak.report.notices import notices
from nearpeak.results.results import Cell, Results
from nearpeak.study.folder import create
from nearpeak.study.history import History
from nearpeak.study.run import StudyRun
from nearpeak.study.sessions import begin
from nearpeak.terms.benchmarks import GPU_FACTS
from nearpeak.tune import run
from nearpeak.tune.journal import Asked

pytestmark = pytest.mark.usefixtures("own_cpus")
PATHS = ("gpu-gpu nvlink", "host-gpu near", "host-gpu near same-gpu")


def start_with(
    library: str,
    monkeypatch: pytest.MonkeyPatch,
    fake_cuda: Path,
    fake: str,
    nvrtc: str | Path = "/nowhere/libnvrtc.so",
) -> None:
    """The library is there, and this machine has the devices."""
    try:
        catalogue.add(library)
    except UserError as error:
        pytest.skip(str(error))
    if len(discover().allowed_cpus) < 2:
        pytest.skip("needs two CPUs")
    monkeypatch.setenv("NEARPEAK_CUDA_LIBRARY", str(fake_cuda))
    monkeypatch.setenv("NEARPEAK_NVRTC_LIBRARY", str(nvrtc))
    monkeypatch.setenv("NEARPEAK_FAKE_CUDA", fake)
    monkeypatch.setattr(prepare, "discover", with_fake_gpus)


def run_study(
    standins: ModuleType,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    library: str,
    fake_cuda: Path,
    fake: str,
    nvrtc: str | Path = "/nowhere/libnvrtc.so",
    others: Sequence[LibraryChoice] = (),
    benchmarks: Sequence[str] = ("latency", "bw"),
    paths: Sequence[str] = ("gpu-gpu nvlink", "host-gpu near"),
    launches: int = 2,
) -> Results:
    start_with(library, monkeypatch, fake_cuda, fake, nvrtc)
    monkeypatch.setattr(prepare, "cache", lambda: folder.parent / "cache")
    # The fake driver moves messages by the CPU: windows of 4 MiB take seconds, and the 256 MiB of
    # the plateau a minute.
    monkeypatch.setattr(awareness, "SIZES", (8, 64 << 10))
    options = Options(
        libraries=[LibraryChoice(mpi=library), *others],
        paths=list(paths),
        benchmarks=list(benchmarks),
        sizes=[8, 4096],
        launches=launches,
        slot_ms=2,
        window=4,
    )
    machine, plan = prepare.prepare(options, Preparation(TOOLS, print))
    plan.plateaus = dict.fromkeys(plan.plateaus, 1 << 16)
    journal = create(folder, machine, plan)
    try:
        history = History(folder, plan)
        session = begin(folder, standins.fingerprint(), history.session)
        end = StudyRun(folder, plan, journal, TOOLS, standins.Quiet(), session, history).run()
    finally:
        journal.close()
    assert end.status == "complete"
    return build_results(folder)


@pytest.mark.parametrize("path", ["gpu-gpu nvlink", "gpu-gpu same-gpu"])
def test_a_file_of_rules_holds_for_buffers_in_devices(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fake_cuda: Path, path: str
) -> None:
    """As a search measures it; Open MPI refuses an algorithm that there is not, from 1000 bytes."""
    start_with("openmpi", monkeypatch, fake_cuda, "reachable=1")
    monkeypatch.setattr(single.here, "discover", with_fake_gpus)
    asked = Asked(
        mpi="openmpi",
        targets="allreduce:8",
        path=path,
        buffers="D,D",
        budget_seconds=3600.0,
        seed=1,
    )
    prepared = run.prepare(asked)
    (operation,) = prepared.operations
    assert (operation.sizes, operation.ranks) == ((8, 4096), 2)
    (way,) = (each for each in operation.ways if each.words == "recursive_doubling")
    ranges = [Range(first=0, algorithm=way.algorithm), Range(first=1000, algorithm=99)]
    file = tmp_path / "rules.conf"
    table = Table(name="allreduce", operation=operation.ruled.operation, ranks=2, ranges=ranges)
    file.write_text(rules_text([table], "by 1 test"))
    assert prepared.ruled
    env = prepared.ruled.env(str(file))
    costs, _ = prepared.launches.curves(env, {"allreduce": [8]}, 60.0)
    assert set(costs["allreduce"]) == {8}
    with pytest.raises(LaunchFailed):
        prepared.launches.curves(env, {"allreduce": [4096]}, 60.0)
    forced, _ = prepared.launches.curves(dict(way.env), {"allreduce": [4096]}, 60.0)
    assert set(forced["allreduce"]) == {4096}


def without_ceiling(cells: Iterable[Cell]) -> list[Cell]:
    """But for those whose CPUs were farther apart, or nearer, than those of their ceiling."""
    return [c for c in cells if c.ceiling is None and c.no_fraction != "other distance"]


@pytest.mark.parametrize("library", ["mpich", "openmpi"])
def test_a_gpu_aware_library_is_measured_on_its_own(
    standins: ModuleType,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    fake_cuda: Path,
    fake_nvrtc: Path,
    library: str,
) -> None:
    folder = tmp_path / "study"
    results = run_study(
        standins, folder, monkeypatch, library, fake_cuda, "reachable=1", nvrtc=fake_nvrtc
    )
    assert results.failures == []
    assert {tried.status for tried in results.awareness} == {"ok"}
    measured = {
        (c.place.path, c.case.benchmark, c.case.buffers, c.case.axes["staging"])
        for c in results.cells
    }
    assert measured == {
        ("gpu-gpu nvlink", "latency", "D,D", "none"),
        ("gpu-gpu nvlink", "bw", "D,D", "none"),
        ("host-gpu near", "latency", "H,D", "none"),
        ("host-gpu near", "bw", "H,D", "none"),
        ("host-gpu near", "bw", "D,H", "none"),
    }
    assert {cell.launches for cell in results.cells} == {2}
    assert without_ceiling(results.cells) == []
    extra = {*GPU_FACTS} - {"runtime_pointer_query"}  # no runtime knows the stand-in driver
    assert extra == {ceiling.case.metric for ceiling in results.ceilings} - {"latency", "bw"}
    between = [
        ceiling.methods for ceiling in results.ceilings if ceiling.place.path == "gpu-gpu nvlink"
    ]
    assert {"sm", "sm-pull", "kernel"} <= {name for methods in between for name in methods}
    assert results.skipped == []


@pytest.mark.parametrize(
    ("fake", "failed", "said"),
    [
        ("cuInit:805", set(PATHS), "a daemon of MPS is there that this"),
        # Of the third path both ranks hold the other GPU.
        ("devices=1", set(PATHS[:2]), f"there is no device '{UUIDS[1]}'"),
    ],
    ids=["MPS of another user", "a GPU withheld"],
)
def test_a_gpu_that_cannot_be_had_is_recorded_and_the_rest_goes_on(
    standins: ModuleType,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    fake_cuda: Path,
    fake: str,
    failed: set[str],
    said: str,
) -> None:
    folder = tmp_path / "study"
    results = run_study(
        standins, folder, monkeypatch, "mpich", fake_cuda, f"reachable=1,{fake}", paths=PATHS
    )
    assert {tried.status for tried in results.awareness} == {"not tried"}  # and not: not GPU-aware
    assert {failure.place.path for failure in results.failures} == failed
    assert {failure.status for failure in results.failures} == {"failed"}
    assert all(said in failure.message for failure in results.failures)
    # How what was measured stands to its ceiling is a matter of the CPU's time.
    lost = {cell.place.path for cell in results.cells if cell.status == "failed"}
    measured = {cell.place.path for cell in results.cells if cell.status != "failed"}
    assert (lost, measured) == (failed, set(PATHS) - failed)
    assert all(cell.launches == 2 for cell in results.cells if cell.place.path in measured)


@pytest.mark.parametrize("fake", ["peer=0", "cuIpcGetMemHandle:801"], ids=["peer", "IPC"])
def test_gpus_that_do_not_reach_each_other_have_a_ceiling_through_the_host(
    standins: ModuleType,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    fake_cuda: Path,
    fake: str,
) -> None:
    folder = tmp_path / "study"
    results = run_study(standins, folder, monkeypatch, "mpich", fake_cuda, f"reachable=1,{fake}")
    assert results.failures == []
    assert without_ceiling(results.cells) == []
    between = [point for point in results.ceilings if point.place.path == "gpu-gpu nvlink"]
    moved = [point.method for point in between if point.case.benchmark in ("latency", "bw")]
    assert moved
    assert all(method.startswith("staged") for method in moved)
    refused = [skip.message for skip in results.skipped if skip.method == "ce"]
    assert refused
    assert all(message.startswith("cuIpc") for message in refused)


def test_a_library_that_is_not_gpu_aware_is_measured_with_staging(
    standins: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fake_cuda: Path
) -> None:
    results = run_study(standins, tmp_path / "study", monkeypatch, "mpich", fake_cuda, "")
    assert results.failures == []
    direct = {tried.operation: tried for tried in results.awareness if tried.buffers == "D,D"}
    assert direct["latency"].status == "crashed"
    assert "SIGSEGV" in direct["latency"].message
    staged = {
        (c.place.path, c.case.axes["staging"])
        for c in results.cells
        if c.case.benchmark == "latency"
    }
    assert staged == {
        (path, staging)
        for path in ("gpu-gpu nvlink", "host-gpu near")
        for staging in ("pageable", "pinned", "pipelined")
    }
    assert all(cell.median for cell in results.cells)


def test_nccl_stands_beside_a_library_where_there_are_two_gpus(
    standins: ModuleType,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    fake_cuda: Path,
    fake_nccl: Path,
) -> None:
    monkeypatch.setattr(nccl, "folders", list)  # none is found
    results = run_study(
        standins,
        tmp_path / "study",
        monkeypatch,
        "mpich",
        fake_cuda,
        "reachable=1",
        others=[LibraryChoice(mpi=str(fake_nccl)), LibraryChoice(mpi="rccl")],
        benchmarks=[
            "latency",
            "allreduce",
            "allreduce:calls=enqueued",
            "allreduce:calls=graph,register=symmetric",
            "barrier",
        ],
    )
    assert capsys.readouterr().out.count("rccl was not found on this machine") == 1
    assert results.failures == []
    [library] = [library for library in results.libraries if library.name == "nccl"]
    assert (library.family, library.version, library.native) == ("nccl", "2.28.3", False)
    measured = {
        (cell.who.library, cell.place.path, cell.case.benchmark, cell.case.axes["calls"])
        for cell in results.cells
    }
    assert measured == {
        *((who, "gpu-gpu nvlink", "latency", "blocking") for who in ("mpich", "nccl")),
        *((who, "gpu-gpu nvlink", "allreduce", "blocking") for who in ("mpich", "nccl")),
        ("nccl", "gpu-gpu nvlink", "allreduce", "enqueued"),
        ("nccl", "gpu-gpu nvlink", "allreduce", "graph"),
        *(
            ("mpich", path, name, "blocking")
            for path, name in [("host-gpu near", "latency"), ("host-gpu near", "allreduce")]
        ),
        *(("mpich", path, "barrier", "blocking") for path in ("gpu-gpu nvlink", "host-gpu near")),
    }
    assert all(cell.launches == 2 for cell in results.cells)
    [notice] = [found.text for found in notices(results) if found.text.startswith("NCCL ")]
    assert "between ranks of one host that have a GPU each" in notice
    assert {(c.first.library, c.second.library) for c in results.comparisons} == {("mpich", "nccl")}
    for record in results.references:
        ways = {
            (one.case.axes["calls"], one.case.axes.get("register"), one.operations)
            for one in record.variants
        }
        expected = {("blocking", None, 1), ("enqueued", None, 20), ("graph", "symmetric", 20)}
        assert ways == expected
        [mpich] = record.libraries
        assert (mpich.who.library, mpich.blocks) == ("mpich", 2)
    assert {record.who.library for record in results.references} == {"nccl"}


@pytest.mark.parametrize("slow", [True, False])
def test_the_price_of_gpu_support_is_found_where_the_driver_is_slow(
    standins: ModuleType,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    fake_cuda: Path,
    slow: bool,
) -> None:
    """MPICH with a shim before it stands for a library that asks the driver of each buffer."""
    here = preloaded_sources() / "tests" / "queries"
    shared = ["-std=c++20", "-O1", "-shared", "-fPIC"]
    driver, shim = tmp_path / "libcuda.so.1", tmp_path / "asking.so"
    own = [*shared, "-Wl,-soname,libcuda.so.1", str(here / "fake_driver.cpp")]
    subprocess.run([*compiler(), *own, "-o", str(driver)], check=True)
    try:
        catalogue.add("mpich")
    except UserError as error:
        pytest.skip(str(error))
    header = kit_for(resolve("mpich")).header.parent
    words = [*shared, f"-I{header}", str(here / "fake_asking_mpi.cpp"), "-ldl"]
    subprocess.run([*compiler(), *words, "-o", str(shim)], check=True)
    monkeypatch.setenv("LD_PRELOAD", str(shim))
    monkeypatch.setenv("ASKING_DRIVER", str(driver))
    monkeypatch.setenv("FAKE_QUERY_US", "400" if slow else "0")
    path = "host-host same-numa"
    results = run_study(
        standins,
        tmp_path / "study",
        monkeypatch,
        "mpich",
        fake_cuda,
        "",
        benchmarks=("latency",),
        paths=(path, f"{path} gpu-support"),
        launches=4,
    )
    assert {cell.place.path for cell in results.cells} == {path, f"{path} gpu-support"}
    found = [each for each in results.findings if each.kind == "gpu_support"]
    # 400 us a call are far more than what a message takes beside other work.
    assert any(each.cost and each.cost.ratio > 10 for each in found) is slow
