# SPDX-License-Identifier: Apache-2.0
"""The GPU-awareness gate: every trial has an end, whatever the library does."""

from pathlib import Path
from types import ModuleType

import pytest

from nearpeak.launching import awareness
from nearpeak.launching.trials import Job
from nearpeak.terms.awareness import Awareness, describe, unaware
from nearpeak.terms.trials import TrialCase


def try_with(
    standins: ModuleType, folder: Path, mode: str, kinds: tuple[str, ...] = ("D,D", "H,D")
) -> list[Awareness]:
    return awareness.try_contender(
        standins.contender("lib", mode),
        [TrialCase(kind, name) for kind in kinds for name in ("send", "isend", "bcast")],
        standins.gpu_path(),
        standins.make_tools(folder),
    )


def ends(found: list[Awareness]) -> dict[tuple[str, str], str]:
    return {(tried.buffers, tried.operation): tried.status for tried in found}


def test_all_goes_well(standins: ModuleType, tmp_path: Path) -> None:
    found = try_with(standins, tmp_path, "")
    assert set(ends(found).values()) == {"ok"}
    assert len(found) == 6
    assert list(map(describe, unaware(found))) == []


def test_a_crash_ends_its_own_trial_alone(standins: ModuleType, tmp_path: Path) -> None:
    found = try_with(standins, tmp_path, "probe D,D isend crash")
    assert ends(found) == {
        ("D,D", "send"): "ok",
        ("D,D", "isend"): "crashed",
        ("D,D", "bcast"): "ok",
        ("H,D", "send"): "ok",
        ("H,D", "isend"): "ok",
        ("H,D", "bcast"): "ok",
    }
    (line,) = list(map(describe, unaware(found)))
    assert line.startswith("lib: not GPU-aware for D,D isend: ended by SIGSEGV")
    crashed = next(tried for tried in found if tried.status == "crashed")
    assert "probe --buffers D,D --operations isend --sizes 8,64K,4M" in crashed.command
    assert "--jsonl" not in crashed.command


@pytest.mark.parametrize(
    ("end", "status"), [("crash", "crashed"), ("refuse", "refused"), ("wrong", "wrong data")]
)
def test_what_fails_after_others_alone_is_measured_and_told(
    standins: ModuleType, tmp_path: Path, end: str, status: str
) -> None:
    found = try_with(standins, tmp_path, f"probe D,D bcast {end} later")
    assert set(ends(found).values()) == {"ok"}
    [told] = [tried for tried in found if tried.after_others]
    assert (told.operation, told.after_others) == ("bcast", status)
    assert told.message.startswith(f"{status} after D,D send, isend")
    assert "probe --buffers D,D --operations bcast" in told.command
    [line] = list(map(describe, unaware(found)))
    assert line.startswith(f"lib: D,D bcast works alone, but {status} after D,D send, isend")


def test_the_first_of_a_job_that_fails_is_not_tried_again(
    standins: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs: list[list[TrialCase]] = []

    class Counted(Job):
        def run(self, limit_seconds: float = 0) -> list[TrialCase]:
            jobs.append(list(self._cases))
            return super().run(limit_seconds)

    monkeypatch.setattr(awareness, "Job", Counted)
    try_with(standins, tmp_path, "probe D,D send crash", kinds=("D,D",))
    assert [len(job) for job in jobs] == [3, 2]
    jobs.clear()
    try_with(standins, tmp_path, "probe D,D isend crash", kinds=("D,D",))
    assert jobs[1:] == [[TrialCase("D,D", "bcast")], [TrialCase("D,D", "isend")]]


def test_wrong_data_and_hangs_are_told_apart(
    standins: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert ends(try_with(standins, tmp_path, "probe H,D bcast wrong"))["H,D", "bcast"] == (
        "wrong data"
    )
    monkeypatch.setattr(awareness, "LIMIT_SECONDS", 1.0)
    found = ends(try_with(standins, tmp_path, "probe H,D send hang", kinds=("H,D",)))
    assert found == {("H,D", "send"): "hung", ("H,D", "isend"): "ok", ("H,D", "bcast"): "ok"}


def test_where_there_is_no_device_nothing_is_said_of_the_library(
    standins: ModuleType, tmp_path: Path
) -> None:
    found = try_with(standins, tmp_path, "probe no device")
    assert set(ends(found).values()) == {"not tried"}
    assert list(map(describe, unaware(found))) == [
        "lib: could not be tried with D,D; H,D: nearpeak-mpi: cuda has none: no driver"
    ]


def test_a_library_that_does_not_start_has_failed(standins: ModuleType, tmp_path: Path) -> None:
    found = try_with(standins, tmp_path, "probe no start")
    assert set(ends(found).values()) == {"failed"}
    (line,) = list(map(describe, unaware(found)))
    assert line.startswith("lib: not GPU-aware for D,D send, isend, bcast; H,D send")
    assert line.endswith(": MPI_Init failed")


def test_a_program_that_cannot_start_says_nothing_of_the_library(
    standins: ModuleType, tmp_path: Path
) -> None:
    tools = standins.make_tools(tmp_path)

    def broken(library: object, launch: object) -> object:
        line = tools.command_line(library, launch)
        return type(line)(argv=["/nowhere/mpirun"], env={})

    found = awareness.try_contender(
        standins.contender(),
        [TrialCase("D,D", "send"), TrialCase("H,D", "isend")],
        standins.gpu_path(),
        type(tools)(broken, tools.mpi_program, tools.native_program),
    )
    assert {tried.status for tried in found} == {"not tried"}
    assert "/nowhere/mpirun cannot be started" in found[0].message


def test_what_differs_in_addresses_alone_is_told_once() -> None:
    found = [
        Awareness(
            library="lib",
            settings="default",
            buffers=kind,
            operation="put",
            status="refused",
            message=f"rank {rank}: MPI_Put(base={base}) failed",
            command="",
        )
        for kind, rank, base in (("D,D", 0, "0x7f96"), ("H,D", 0, "0x7f99"), ("D,H", 1, "0x1"))
    ]
    assert list(map(describe, unaware(found))) == [
        "lib: not GPU-aware for D,D put; H,D put; D,H put: rank 0: MPI_Put(base=0x...) failed"
    ]


def try_without_gpu(standins: ModuleType, folder: Path, mode: str) -> list[Awareness]:
    return awareness.try_contender(
        standins.contender("lib", mode),
        [TrialCase(kind, name) for kind in ("H,D", "D,H") for name in ("send", "isend")],
        standins.gpu_path("host-gpu near", device="-"),
        standins.make_tools(folder),
    )


def test_a_rank_that_holds_no_gpu_is_tried_for_each_order(
    standins: ModuleType, tmp_path: Path
) -> None:
    found = try_without_gpu(standins, tmp_path, "")
    assert {tried.host_device for tried in found} == {"none"}
    assert set(ends(found).values()) == {"ok"}
    commands = {tried.buffers: tried.command for tried in found}
    assert "--devices -,GPU-1" in commands["H,D"]
    assert "--devices GPU-1,-" in commands["D,H"]


def test_a_library_that_ends_badly_without_a_gpu_needs_one(
    standins: ModuleType, tmp_path: Path
) -> None:
    """As Intel MPI 2021.19, whose figures are right before."""
    found = try_without_gpu(standins, tmp_path, "probe end crash")
    assert set(ends(found).values()) == {"crashed"}
    (line,) = list(map(describe, unaware(found)))
    assert line.startswith(
        "lib: not GPU-aware for H,D send, isend; D,H send, isend with a rank that holds no GPU:"
        " once all was done: ended by SIGSEGV"
    )
