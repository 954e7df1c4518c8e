# SPDX-License-Identifier: Apache-2.0
"""Runs of plans of stand-in launches: every way in which a launch or a study can end."""

import errno
import os
import signal
from pathlib import Path
from types import ModuleType
from typing import Any

import psutil
import pytest

from nearpeak.journal import CannotWriteError
from nearpeak.launching import mps, process
from nearpeak.launching.fingerprints import Fingerprint
from nearpeak.launching.program_records import EnvironmentRecord, SamplesRecord
from nearpeak.libraries.families import natives
from nearpeak.machine import allocation
from nearpeak.planning.plan import LaunchId, Spare
from nearpeak.study import run
from nearpeak.study.amendments import remaining_lines
from nearpeak.study.history import History
from nearpeak.study.journal import StudyJournal
from nearpeak.study.recording import Recording
from nearpeak.study.records import LaunchRecord, LeftOutRecord, SessionRecord
from nearpeak.study.schedule import Schedule, linked
from nearpeak.study.templates import Templates, launch_record
from nearpeak.terms.sizes import format_seconds
from nearpeak.watch import watched


def samples_of(study: Any, launch: int) -> list[SamplesRecord]:
    return [
        record
        for record in study.records()
        if isinstance(record, SamplesRecord) and record.launch == launch
    ]


def ends_of(study: Any, library: str) -> list[Any]:
    libraries = {
        record.launch: record.library
        for record in study.records()
        if isinstance(record, LaunchRecord)
    }
    return [end for end in study.ends() if libraries[end.launch] == library]


def test_a_study_records_every_launch_of_its_plan(study: Any, standins: ModuleType) -> None:
    plan = standins.small_plan()
    end = study.run(plan)
    assert (end.status, end.message) == ("complete", "all 2 blocks were run")
    assert [record.launch for record in study.ends()] == [0, 1, 2, 3]
    assert {record.status for record in study.ends()} == {"ok"}
    for number in range(4):
        assert [sample.size_bytes for sample in samples_of(study, number)] == [8, 100]
    assert not list((study.folder / "logs").glob("*.jsonl"))  # all of it is in records.jsonl


def test_logs_are_not_written_through_links(study: Any, standins: ModuleType) -> None:
    """Of a folder that was handed over: nothing of the user's is lost."""
    precious = study.folder.parent / "precious"
    precious.mkdir()
    (precious / "0000.log").write_text("text")
    study.folder.mkdir(exist_ok=True)
    (study.folder / "logs").symlink_to(precious)
    with pytest.raises(CannotWriteError, match="logs is a link"):
        study.run(standins.small_plan())
    (study.folder / "logs").unlink()
    (study.folder / "logs").mkdir()
    (study.folder / "logs" / "0000.log").symlink_to(precious / "0000.log")
    study.run(standins.small_plan())
    assert (precious / "0000.log").read_text() == "text"


def test_the_recorded_command_runs_by_itself(study: Any, standins: ModuleType) -> None:
    study.run(standins.small_plan())
    commands = [record.command for record in study.records() if isinstance(record, LaunchRecord)]
    assert len(commands) == 4
    assert all("--jsonl" not in command for command in commands)
    assert any(
        "latency --calls blocking --reuse fixed --buffers H,H" in command for command in commands
    )
    assert any("pair --cpus 0,1" in command for command in commands)


@pytest.mark.parametrize(
    ("mode", "status", "message"),
    [
        ("crash", "crashed", "ended by SIGSEGV"),
        ("abort 3", "crashed", "exit status 3: check(107): Invalid datatype"),
        ("wrong", "wrong data", "latency 8 bytes: rank 1 got 7 for 8 at byte 3"),
        ("wrong half", "wrong data", ""),
        ("lie", "failed", "4 of its records were not understood: size 77 was not asked for"),
        ("half", "failed", "1 of its records were not understood"),
        ("some", "failed", "1 of the 2 cases that it was to measure are missing, latency latency"),
        ("twice", "failed", "2 of its records were not understood: latency of 8 bytes was meas"),
        ("misplaced", "failed", "rank 0 ran on CPUs [99], wanted [0]"),
        ("misplaced and hang", "failed", "rank 0 ran on CPUs [99], wanted [0]"),
        ("nowhere", "failed", "4 of its records were not understood: it did not say where it ran"),
        ("other host", "failed", "rank 1 ran on host g, wanted that of rank 0, h"),
    ],
)
def test_a_launch_that_fails_costs_no_other(
    study: Any, standins: ModuleType, mode: str, status: str, message: str
) -> None:
    good, bad = standins.contender("good"), standins.contender("bad", mode)
    assert study.run(standins.small_plan(good, bad, limit=2.5)).status == "complete"
    assert {end.status for end in ends_of(study, "good")} == {"ok"}
    assert {end.status for end in ends_of(study, "bad")} == {status}
    assert all(message in end.message for end in ends_of(study, "bad"))


def test_a_case_that_is_skipped_is_answered(study: Any, standins: ModuleType) -> None:
    study.run(standins.small_plan(standins.contender("careful", "skip")))
    assert {(end.status, end.message) for end in study.ends()} == {("ok", "")}


def test_nothing_of_a_launch_in_the_wrong_place_is_taken(study: Any, standins: ModuleType) -> None:
    """However it ends: it may hang, or be cut off."""
    study.run(standins.small_plan(standins.contender("bad", "misplaced")))
    bad = ends_of(study, "bad")
    assert bad
    assert all(samples_of(study, end.launch) == [] for end in bad)
    assert (study.folder / bad[0].log).with_suffix(".jsonl").exists()  # what it wrote is kept


@pytest.mark.parametrize("mode", ["hang", "orphan"])
def test_a_launch_that_hangs_is_ended_with_all_it_started(
    study: Any, standins: ModuleType, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    monkeypatch.setattr(process, "TERM_GRACE_SECONDS", 1.0)  # then it is killed
    plan = standins.small_plan(
        standins.contender("good"), standins.contender("bad", mode), limit=1.5, launches=2
    )
    watched.start()  # which goes on for the next launch
    before = set(psutil.Process().children(recursive=True))  # another test's browser, say
    study.run(plan)
    assert {end.status for end in ends_of(study, "good")} == {"ok"}
    assert {end.status for end in ends_of(study, "bad")} == {"hung"}
    # What it measured before it hung is kept.
    assert all(len(samples_of(study, end.launch)) == 2 for end in ends_of(study, "bad"))
    assert set(psutil.Process().children(recursive=True)) <= before


def test_a_program_that_cannot_be_started_is_a_failed_launch(
    study: Any, standins: ModuleType
) -> None:
    def nowhere(_library: Any, _launch: Any) -> Any:
        return standins.CommandLine(argv=["/nowhere/mpirun"], env={})

    study.tools = standins.Tools(
        command_line=nowhere,
        mpi_program=study.tools.mpi_program,
        native_program=study.tools.native_program,
    )
    study.run(standins.small_plan())
    bad = ends_of(study, "fake")
    assert {(end.status, end.exit_status) for end in bad} == {("failed", None)}
    assert bad[0].message == "/nowhere/mpirun cannot be started: No such file or directory"
    assert {end.status for end in ends_of(study, "")} == {"ok"}


def test_three_failures_in_a_row_are_enough(study: Any, standins: ModuleType) -> None:
    plan = standins.small_plan(
        standins.contender("good"), standins.contender("bad", "crash"), launches=5
    )
    study.run(plan)
    bad = ends_of(study, "bad")
    assert len(bad) == 3
    assert [end.given_up_after for end in bad] == [0, 0, 3]
    assert bad[-1].text.endswith("; given up after 3 failures in a row without a sample")
    assert len(ends_of(study, "good")) == 5


def test_a_crash_after_samples_is_not_given_up(study: Any, standins: ModuleType) -> None:
    plan = standins.small_plan(standins.contender("bad", "late crash"), launches=4)
    study.run(plan)
    assert len(ends_of(study, "bad")) == 4


def test_looks_end_a_study_whose_cells_are_precise(study: Any, standins: ModuleType) -> None:
    plan = standins.small_plan(launches=2)
    plan.looks = [6, 9]
    end = study.run(plan)
    # The stand-in always measures the same, so six launches say it all.
    assert end.message == "every cell was precise or given up when judged after 6 blocks"
    assert len(study.ends()) == 12


def test_a_spent_budget_ends_the_study_between_blocks(study: Any, standins: ModuleType) -> None:
    plan = standins.small_plan(launches=5)
    plan.budget_seconds = 0.001
    end = study.run(plan)
    assert (end.status, end.message) == (
        "imprecise",
        "the budget is spent after 2 blocks; 2 of 2 figures are less precise than aimed at "
        "(2 % for rates, 3 % for times)",
    )
    assert len(study.ends()) == 4


def test_the_end_of_a_job_comes_before_a_budget(study: Any, standins: ModuleType) -> None:
    plan = standins.small_plan(launches=2)
    end = study.run(plan, seconds=0.0)
    assert (end.status, end.message) == (
        "interrupted",
        "the job has no time left for another block after 0",
    )
    assert not study.ends()
    assert study.run(plan, seconds=1000.0).status == "complete"
    assert study.ends()


class Told:
    """Progress that keeps the time left as it is told."""

    def __init__(self) -> None:
        self.left: list[float] = []

    def begin(self, _planned: object, left: float) -> None:
        self.left.append(left)

    def tick(self) -> None: ...

    def end(self, *_: object) -> None: ...


@pytest.mark.parametrize("budget", [1000.0, None])
@pytest.mark.parametrize(("seconds", "most"), [(0.5, 0.5), (None, 1000.0)])
def test_no_more_time_is_left_than_budget_and_job_have(
    study: Any,
    standins: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    budget: float | None,
    seconds: float | None,
    most: float,
) -> None:
    """Whatever the blocks that are run anyhow are expected to take."""
    plan = standins.small_plan(launches=2)
    plan.budget_seconds = budget
    monkeypatch.setattr(Schedule, "seconds_left", lambda *_: 400.0 if budget is None else 9000.0)
    monkeypatch.setattr(run.StudyRun, "_in_time", lambda *_: True)
    told = Told()
    study.run(plan, told, seconds=seconds)
    assert len(told.left) == 4
    assert 0 <= min(told.left) <= max(told.left) <= most


def test_trials_count_in_the_budget(study: Any, standins: ModuleType) -> None:
    plan = standins.small_plan(launches=5)
    plan.budget_seconds, plan.trial_seconds = 1000.0, 1250.0
    assert study.run(plan).message.startswith("the budget is spent after 2 blocks")


def recorded(study: Any) -> list[LaunchRecord]:
    return [record for record in study.records() if isinstance(record, LaunchRecord)]


def test_alternatives_are_measured_until_all_are_precise(study: Any, standins: ModuleType) -> None:
    plan = standins.small_plan(standins.contender("good"), standins.contender("bad", "noisy"))
    plan.looks, plan.budget_seconds = [6, 9], 1000.0
    end = study.run(plan)
    assert (end.status, end.message) == (
        "imprecise",
        "all 9 blocks were run; 2 of 4 figures are less precise than aimed at (2 % for rates, "
        "3 % for times)",
    )
    assert [len(ends_of(study, name)) for name in ("good", "bad", "")] == [9, 9, 9]


def test_the_ceiling_of_a_memory_is_measured_in_six_blocks(
    study: Any, standins: ModuleType
) -> None:
    paths = (standins.data_path(), standins.data_path("host-memory node0", "local"))
    study.run(standins.small_plan(standins.contender("bad", "noisy"), launches=8, paths=paths))
    blocks = [launch.block for launch in recorded(study) if launch.path == "host-memory node0"]
    assert blocks == list(range(6))
    assert len(ends_of(study, "bad")) == 8


def test_the_first_blocks_shape_the_rest(study: Any, standins: ModuleType) -> None:
    """The stand-in scatters nowhere, so that the least slot is enough."""
    plan = standins.small_plan(launches=4)
    plan.slot_ms, plan.slot_fixed = 40.0, False
    study.run(plan)
    launches = recorded(study)
    assert [launch.slot_ms for launch in launches] == [40.0] * 4 + [20.0] * 4
    assert all(launch.methods == [] for launch in launches)  # none was far from the best
    # Said in any case, whatever the programs have as their default.
    least = [5 if launch.block >= 2 and launch.role == "mpi" else 11 for launch in launches]
    for launch, samples in zip(launches, least, strict=True):
        assert f"--least-samples {samples} " in launch.command
    assert all(f"--slot-ms {launch.slot_ms:g} " in launch.command for launch in launches)


@pytest.mark.parametrize("number", [2, 3, 6])
def test_a_resumed_study_goes_on_as_it_would_have(
    study: Any, standins: ModuleType, number: int
) -> None:
    plan = standins.small_plan(benchmarks=("latency", "bw"), launches=4)
    plan.slot_ms, plan.slot_fixed = 40.0, False
    assert study.run(plan, InterruptAt(number)).status == "interrupted"
    assert study.run(plan).status == "complete"
    find = Templates(plan).index_of
    found = {
        LaunchId(other.block, find(other)): other for other in recorded(study)
    }  # the last try of each
    planned = [launch for block in range(4) for launch in plan.block(block)]
    assert [*found] == [launch.id for launch in planned]
    for launch in planned:
        begun = found[launch.id]
        assert begun.slot_ms == (40.0 if launch.block < 2 else 20.0)
        if launch.variants:
            assert names_of(begun) == plan.order(launch.block)


@pytest.mark.parametrize("number", [1, 4, 6, 9, 30])
def test_a_path_that_was_cut_off_is_measured_in_one_session(
    study: Any, standins: ModuleType, number: int
) -> None:
    """In whichever launch; what was whole stays, and every try has a number and a log."""
    paths = (standins.data_path(), standins.data_path("host-host two", "memory"))
    plan = standins.small_plan(
        standins.contender("alpha"), standins.contender("beta"), launches=2, paths=paths
    )
    assert len(plan.launches) == 6
    study.run(plan, InterruptAt(number))
    before = [(launch.block, launch.path) for launch in recorded(study)]
    study.run(plan)
    launches = recorded(study)
    assert [launch.launch for launch in launches] == list(range(len(launches)))
    logs = [end.log for end in study.ends()]
    assert len(set(logs)) == len(logs) == len(launches)
    ended = {end.launch: end.status for end in study.ends()}
    for block in range(2):
        for path in paths:
            mine = [
                launch for launch in launches if (launch.block, launch.path) == (block, path.id)
            ]
            last = [launch for launch in mine if launch.session == mine[-1].session]
            assert len(last) == 3
            assert {ended[launch.launch] for launch in last} == {"ok"}
            again = len(mine) - len(last)
            assert again == (before.count((block, path.id)) if len(mine) > 3 else 0)
    # Nothing is left, and nothing is repeated once more.
    study.run(plan)
    assert len(recorded(study)) == len(launches)


def test_paths_that_rest_on_one_another_are_measured_together(standins: ModuleType) -> None:
    pair, wide = standins.data_path(), standins.wide_path(4)
    network = standins.data_path("host-host tcp-loopback", "network")
    assert linked([network, pair, wide]) == [{network.id}, {pair.id, wide.id}]
    assert linked([wide, network, pair]) == [{network.id}, {pair.id, wide.id}]


def names_of(launch: LaunchRecord) -> list[str]:
    return [chosen.benchmark for group in launch.groups for chosen in group.benchmarks]


class InterruptAt:
    """Progress that interrupts the study when its `number`-th launch begins."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.begun = 0

    def begin(self, *_: object) -> None:
        self.begun += 1

    def tick(self) -> None:
        if self.begun == self.number:
            self.begun += 1
            os.kill(os.getpid(), signal.SIGINT)

    def end(self, *_: object) -> None: ...


def test_an_interrupted_study_is_completed_by_another_run(study: Any, standins: ModuleType) -> None:
    plan = standins.small_plan(standins.contender("slow", "hang"), limit=1.5)
    first = [launch.role for launch in plan.block(0)].index("mpi")
    before = signal.getsignal(signal.SIGINT)
    end = study.run(plan, InterruptAt(first + 1))
    assert (end.status, end.message) == ("interrupted", "ended by SIGINT")
    assert study.ends()[-1].status == "interrupted"
    assert study.ends()[-1].launch == first
    assert signal.getsignal(signal.SIGINT) is before
    assert study.run(plan).status == "complete"
    mine = [launch for launch in recorded(study) if launch.role == "mpi"]
    assert [launch.block for launch in mine] == [0, 0, 1]


def test_a_launch_that_got_the_same_signal_has_not_crashed(
    study: Any, standins: ModuleType
) -> None:
    """Slurm ends all processes of a job at once, and a launcher may end before it is looked at."""
    plan = standins.small_plan(standins.contender("ended", "crash"))
    first = [launch.role for launch in plan.block(0)].index("mpi")
    study.run(plan, InterruptAt(first + 1))
    assert study.ends()[-1].status == "interrupted"


def test_a_launch_that_ended_with_its_job_has_not_crashed(
    study: Any, standins: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The signal for the study itself may come later, or not at all."""
    told = iter([False, True])
    monkeypatch.setattr(allocation, "is_ending", lambda: next(told))
    monkeypatch.setattr("nearpeak.launching.interrupts.SIGNAL_SECONDS", 0.1)
    end = study.run(standins.small_plan(standins.contender("ended", "crash")))
    assert (end.status, end.message) == ("interrupted", "the job was ended")
    assert study.ends()[-1].status == "interrupted"


def test_a_study_does_not_outlive_its_job(
    study: Any, standins: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    """salloc gives its command no signal, and launches within this node do not fail."""
    told = iter([False, True])
    monkeypatch.setattr(allocation, "is_ending", lambda: next(told))
    monkeypatch.setattr("nearpeak.launching.interrupts.JOB_SECONDS", 0.0)
    end = study.run(standins.small_plan())
    assert (end.status, end.message) == ("interrupted", "the job was ended")
    assert [end.status for end in study.ends()] == ["ok"]


def test_a_study_that_was_killed_loses_its_half_line_alone(
    study: Any, standins: ModuleType
) -> None:
    plan = standins.small_plan()
    study.run(plan)
    file = study.folder / "records.jsonl"
    whole = file.read_bytes().splitlines(keepends=True)
    third = next(i for i, line in enumerate(whole) if b'"launch":2' in line)
    file.write_bytes(b"".join(whole[: third + 2]) + whole[third + 2][:20])
    study.run(plan)
    assert file.read_bytes().startswith(b"".join(whole[: third + 2]) + b"{")
    assert [end.launch for end in study.ends()] == [0, 1, 3, 4]
    assert [(launch.launch, launch.block) for launch in recorded(study)] == [
        *((0, 0), (1, 0), (2, 1)),
        *((3, 1), (4, 1)),
    ]


def test_what_goes_wrong_beside_the_folder_costs_its_launch_alone(
    study: Any, standins: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any, **__: Any) -> Any:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    monkeypatch.setattr("nearpeak.study.run.run_tree", refuse)
    assert study.run(standins.small_plan()).status == "complete"
    assert {(end.status, end.message) for end in study.ends()} == {
        ("failed", "[Errno 24] Too many open files")
    }


def test_a_log_that_cannot_be_written_ends_the_study(study: Any, standins: ModuleType) -> None:
    (study.folder / "logs" / "0000.log").mkdir(parents=True)
    with pytest.raises(CannotWriteError, match="cannot be written"):
        study.run(standins.small_plan())


@pytest.mark.parametrize(("held", "shown"), [(None, "GPU-1"), ("GPU-0", "GPU-0"), ("-", "-")])
def test_ranks_are_given_the_devices_of_their_ends(
    study: Any, standins: ModuleType, held: str | None, shown: str
) -> None:
    path = standins.gpu_path("host-gpu near", device=held)
    study.run(standins.small_plan(paths=(path,), buffers="D,H"))
    assert {end.status for end in study.ends()} == {"ok"}
    begun = [record for record in study.records() if isinstance(record, LaunchRecord)]
    assert {group.buffers for launch in begun for group in launch.groups} == {"D,H"}
    mpi = next(launch.command for launch in begun if launch.role == "mpi")
    ceiling = next(launch.command for launch in begun if launch.role == "ceiling")
    assert f"--buffers D,H --devices {shown},GPU-1 --reversed" in mpi
    where = f"gpu --cpus 1,0 --buffers D,H --devices GPU-1,{shown}"
    assert f"{where} --reuse fixed --touch none" in ceiling
    ranks = next(
        record.ranks for record in study.records() if isinstance(record, EnvironmentRecord)
    )
    assert [rank["cpus"] for rank in ranks] == [[1], [0]]


def test_a_rank_on_another_device_is_a_failed_launch(study: Any, standins: ModuleType) -> None:
    paths = (standins.gpu_path(),)
    moved = standins.contender("moved", "other device")
    study.run(standins.small_plan(moved, paths=paths, buffers="D,D"))
    bad = ends_of(study, "moved")
    assert {end.status for end in bad} == {"failed"}
    assert bad[0].message == "rank 0 ran on device GPU-1, wanted GPU-0"
    assert {end.status for end in ends_of(study, "")} == {"ok"}


def test_without_mps_its_path_alone_fails(
    study: Any, standins: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mps, "MPS_CONTROL", "no-such-daemon")
    paths = (standins.gpu_path(), standins.gpu_path("gpu-gpu same-gpu mps", mps=True))
    study.run(standins.small_plan(paths=paths, buffers="D,D"))
    begun = {
        record.launch: record for record in study.records() if isinstance(record, LaunchRecord)
    }
    status = {begun[end.launch].path: end.status for end in study.ends()}
    assert status == {"gpu-gpu nvlink": "ok", "gpu-gpu same-gpu mps": "failed"}
    messages = {end.message for end in study.ends() if end.status == "failed"}
    assert messages == {"no-such-daemon was not found on PATH: leave out the paths with mps"}


def test_a_launch_measures_its_benchmarks_one_after_the_other(
    study: Any, standins: ModuleType
) -> None:
    crashing = standins.contender("crashing", "crash in bw")
    plan = standins.small_plan(
        standins.contender("good"), crashing, benchmarks=("latency", "bw", "bibw")
    )
    assert len(plan.launches) == 3  # two libraries and the ceiling
    study.run(plan)
    begun = [record for record in study.records() if isinstance(record, LaunchRecord)]
    for launch in begun:
        if launch.role == "mpi":
            order = names_of(launch)
            usual = plan.order(launch.block)  # the same of both libraries
            if launch.library == "crashing" and launch.block:  # so that it takes nothing along
                usual = [*(name for name in usual if name != "bw"), "bw"]
            assert order == usual
            done = order[: order.index("bw")] if launch.library == "crashing" else order
            measured = dict.fromkeys(case.benchmark for case in samples_of(study, launch.launch))
            assert list(measured) == done
        else:
            assert f"--metrics {','.join(plan.order(launch.block))} " in launch.command
    assert {end.status for end in ends_of(study, "crashing")} == {"crashed"}


def test_ranks_of_two_hosts_on_one_are_a_failed_launch(study: Any, standins: ModuleType) -> None:
    paths = (standins.host_path("a", "b"),)
    good, bad = standins.contender("good"), standins.contender("bad", "one host")
    tools = study.tools
    study.tools = standins.Tools(
        command_line=tools.command_line,
        mpi_program=tools.mpi_program,
        native_program=lambda: standins.FAKE,
    )
    study.run(standins.small_plan(good, bad, paths=paths))
    assert {(end.status, end.message) for end in ends_of(study, "good")} == {("ok", "")}
    assert {(end.status, end.message) for end in ends_of(study, "bad")} == {
        ("failed", "all ranks ran on host h, not on a and b")
    }


def test_what_was_verified_before_an_exit_status_of_1_counts(
    study: Any, standins: ModuleType
) -> None:
    study.run(standins.small_plan(standins.contender("late", "late exit 1"), launches=4))
    bad = ends_of(study, "late")
    assert len(bad) == 4  # it is not given up
    assert {(end.status, end.exit_status) for end in bad} == {("crashed", 1)}
    assert bad[0].message.startswith("exit status 1")
    assert all(len(samples_of(study, end.launch)) == 2 for end in bad)


def test_a_launch_writes_every_metric_of_a_benchmark(study: Any, standins: ModuleType) -> None:
    plan = standins.small_plan(paths=(standins.wide_path(4),), benchmarks=("allreduce", "mbw_mr"))
    study.run(plan)
    assert {(end.status, end.message) for end in study.ends()} == {("ok", "")}
    measured = [record for record in study.records() if isinstance(record, SamplesRecord)]
    assert {(record.benchmark, record.metric, record.method) for record in measured} == {
        *(("allreduce", "allreduce", None), ("mbw_mr", "mbw", None), ("mbw_mr", "mr", None)),
        *(("mbw_mr", "mbw", "pair"), ("mbw_mr", "mr", "pair")),
    }


def test_the_ceiling_stands_beside_libraries(study: Any, standins: ModuleType) -> None:
    ceiling = standins.Contender(library=natives()["ceiling"], settings=standins.Settings())
    study.run(standins.small_plan(ceiling, standins.contender("lib")))
    assert {(end.status, end.message) for end in study.ends()} == {("ok", "")}
    axes = {
        library: {
            tuple(sorted(sample.axes.items()))
            for end in ends_of(study, library)
            for sample in samples_of(study, end.launch)
        }
        for library in ("ceiling", "lib")
    }
    # It is given the axes that it has no choice of, so that both are of one case.
    assert axes["ceiling"] == axes["lib"]


def test_what_takes_longer_than_guessed_is_left_out_behind_the_first_block(
    study: Any, standins: ModuleType
) -> None:
    plan = standins.small_plan(
        standins.contender(),
        launches=8,
        benchmarks=("latency", "bw", "bibw"),
        paths=(standins.data_path(), standins.data_path("host-host two", "memory")),
    )
    plan.budget_seconds = 0.001
    plan.spare = [
        Spare(kind="benchmark", name="bibw", why="so", variants=[2]),
        Spare(kind="path", name="host-host two", why="so", paths=["host-host two"]),
        Spare(kind="path", name="nowhere", why="so", paths=["nowhere"]),
        Spare(kind="path", name="the rest", why="so", paths=["host-host same-numa"]),
    ]
    end = study.run(plan)
    assert end.message.startswith("the budget is spent after 2 blocks")
    found = [left for left in study.records() if isinstance(left, LeftOutRecord)]
    assert [(left.block, left.spare) for left in found] == [(1, 0), (1, 1)]
    assert all(left.budget_seconds >= 10 for left in found)
    later = [
        launch
        for launch in study.records()
        if isinstance(launch, LaunchRecord) and launch.block == 1
    ]
    assert {launch.path for launch in later} == {"host-host same-numa"}
    [mpi] = [launch for launch in later if launch.role == "mpi"]
    assert {benchmark.benchmark for group in mpi.groups for benchmark in group.benchmarks} == {
        "latency",
        "bw",
    }
    # Who goes on with it knows, as the report does.
    again = History(study.folder, plan).state
    assert {launch.path for launch in again.remaining(2)} == {"host-host same-numa"}
    assert [plan.left_out_later(left.spare, 60.0, left.block).label for left in found] == [
        "bibw",
        "host-host two",
    ]


def test_the_job_in_which_a_study_begins_bounds_what_it_measures_and_not_its_budget(
    study: Any, standins: ModuleType
) -> None:
    plan = standins.small_plan(standins.contender(), launches=4, benchmarks=("latency", "bw"))
    plan.spare = [Spare(kind="benchmark", name="bw", why="so", variants=[1])]
    plan.budget_seconds, plan.job_seconds = 1000.0, 0.001
    end = study.run(plan, seconds=0.0)
    assert (end.status, len(study.ends())) == ("interrupted", 0)
    assert [left.spare for left in study.records() if isinstance(left, LeftOutRecord)] == []
    # Another job has all that was not spent, and time enough for what the first one had not.
    state = History(study.folder, plan).state
    assert state.budget_seconds == 1000.0
    assert f"{format_seconds(1000.0)} of the budget are left'" in str(remaining_lines(state))
    assert "of the budget are left, 0.0 s in this job'" in str(remaining_lines(state, 0.001))
    assert study.run(plan, seconds=1000.0).status == "complete"
    assert [left.spare for left in study.records() if isinstance(left, LeftOutRecord)] == []


def test_a_short_job_leaves_out_what_it_does_not_hold(study: Any, standins: ModuleType) -> None:
    plan = standins.small_plan(standins.contender(), launches=4, benchmarks=("latency", "bw"))
    plan.spare = [Spare(kind="benchmark", name="bw", why="so", variants=[1])]
    plan.budget_seconds, plan.job_seconds = 1000.0, 0.001
    study.run(plan)
    assert [left.spare for left in study.records() if isinstance(left, LeftOutRecord)] == [0]


def test_a_block_that_is_completed_leaves_nothing_out(study: Any, standins: ModuleType) -> None:
    """What it was to have was decided before it began, whatever it took since."""
    plan = standins.small_plan(standins.contender(), launches=4, benchmarks=("latency", "bw"))
    plan.spare = [Spare(kind="benchmark", name="bw", why="so", variants=[1])]
    plan.budget_seconds = 1000.0
    assert study.run(plan, InterruptAt(3)).status == "interrupted"
    plan.budget_seconds = 0.001
    study.run(plan)
    found = {record.block for record in study.records() if isinstance(record, LeftOutRecord)}
    assert found == {2}
    later = [launch for launch in recorded(study) if (launch.session, launch.role) == (1, "mpi")]
    assert [(launch.block, sorted(names_of(launch))) for launch in later] == [
        (1, ["bw", "latency"])
    ]


def test_what_holds_six_blocks_stays(study: Any, standins: ModuleType) -> None:
    plan = standins.small_plan(standins.contender(), launches=2, benchmarks=("latency", "bw"))
    plan.budget_seconds = 1000.0
    plan.spare = [Spare(kind="benchmark", name="bw", why="so", variants=[1])]
    study.run(plan)
    assert not [record for record in study.records() if isinstance(record, LeftOutRecord)]


@pytest.mark.parametrize("value", [b'"\xff"}', 100_000 * b"["])
def test_a_line_that_cannot_be_decoded_is_rejected(
    standins: ModuleType, tmp_path: Path, value: bytes
) -> None:
    plan = standins.small_plan(launches=1)
    recording = Recording(plan)
    nothing = Fingerprint(machine={}, driver={}, library={}, build={}, environment={})
    recording.take(SessionRecord(session=0, started="now", nearpeak="0", fingerprint=nothing))
    recording.take(launch_record(plan, plan.block(0)[0], 0, "run", "now", 0))
    file = tmp_path / "launch.jsonl"
    file.write_bytes(b'{"record":"samples","z":' + value + b"\n")
    journal = StudyJournal(tmp_path)
    reader = run._Reader(recording, journal, file)
    reader.read()
    journal.close()
    assert (len(reader.rejected), reader.taken) == (1, 0)
