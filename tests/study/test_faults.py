# SPDX-License-Identifier: Apache-2.0
"""Faults on real launches: what goes wrong becomes a record, and costs nothing else."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import uuid
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mpi_launches import LIMIT

from nearpeak.errors import UserError
from nearpeak.launching.program_records import ProblemRecord, SamplesRecord
from nearpeak.planning.plan import LaunchId
from nearpeak.study.folder import read_plan
from nearpeak.study.journal import read_records
from nearpeak.study.records import LaunchEndRecord, LaunchRecord, StudyEndRecord
from nearpeak.study.templates import Templates

pytestmark = pytest.mark.usefixtures("own_cpus")

SOURCE = Path(__file__).parent / "faults" / "fault.c"
NEARPEAK = str(Path(sys.executable).with_name("nearpeak"))
SMALL = """\
paths = ["host-host same-numa"]
sizes = "8,1K"
slot_ms = 10
seed = 1
"""


def installed(name: str) -> Any:
    """The library of that name, with its programs built; skips where it is not installed."""
    from nearpeak.libraries.build import build_mpi, build_native
    from nearpeak.libraries.discover import resolve

    try:
        library = resolve(name)
    except UserError as error:
        pytest.skip(f"{name} is not there: {error}")
    build_mpi(library)
    build_native()
    return library


def build_fault(library: Any, folder: Path) -> Path:
    """fault.c, built against the library's own mpi.h."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    include = library.prefix / "include"
    if compiler is None or not (include / "mpi.h").exists():
        pytest.skip(f"{library.name}: no C compiler, or no mpi.h in {include}")
    built = folder / f"fault-{library.name}.so"
    command = [compiler, "-shared", "-fPIC", f"-I{include}", str(SOURCE), "-o", str(built), "-ldl"]
    subprocess.run(command, check=True)
    return built


class Command:
    """`nearpeak study` in a process of its own, whose descendants can be told from others."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.token = f"NEARPEAK_TEST={uuid.uuid4().hex}"
        name, _, value = self.token.partition("=")
        self.env = {**os.environ, name: value}

    def start(self, *arguments: object) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [NEARPEAK, "study", "-o", str(self.folder), *map(str, arguments)],
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def run(self, *arguments: object) -> "tuple[int, str, str]":
        process = self.start(*arguments)
        out, err = process.communicate(timeout=LIMIT)
        return process.returncode, out, err

    def start_and_wait_for_samples(self, *arguments: object) -> "subprocess.Popen[str]":
        """A study that is in the middle of a launch that has begun to give samples."""
        process = self.start(*arguments)
        deadline = time.monotonic() + LIMIT
        file = self.folder / "records.jsonl"
        while process.poll() is None and time.monotonic() < deadline:
            if file.exists() and '"record":"samples"' in file.read_text():
                return process
            time.sleep(0.05)
        process.kill()
        pytest.fail(f"no samples came: {process.communicate()}")

    def left_behind(self) -> list[str]:
        """Command lines of the processes that this command started and that still run."""
        found = []
        for process in Path("/proc").iterdir():
            if process.name.isdigit() and int(process.name) != os.getpid():
                with contextlib.suppress(OSError):
                    if self.token.encode() in (process / "environ").read_bytes().split(b"\0"):
                        found.append((process / "cmdline").read_text().replace("\0", " "))
        return found

    def all_end_soon(self) -> bool:
        deadline = time.monotonic() + LIMIT
        while self.left_behind() and time.monotonic() < deadline:
            time.sleep(0.1)
        return not self.left_behind()

    def records(self, kind: type) -> list[Any]:
        return [record for record in read_records(self.folder) if isinstance(record, kind)]

    def ends(self) -> "dict[LaunchId, LaunchEndRecord]":
        """How the last try of each launch ended."""
        find = Templates(read_plan(self.folder)).index_of
        tries = {
            record.launch: LaunchId(record.block, find(record))
            for record in self.records(LaunchRecord)
        }
        return {tries[record.launch]: record for record in self.records(LaunchEndRecord)}

    def planned(self) -> set[LaunchId]:
        plan = read_plan(self.folder)
        return {launch.id for block in range(plan.looks[-1]) for launch in plan.block(block)}


@pytest.fixture
def command(tmp_path: Path) -> Command:
    return Command(tmp_path / "study")


def study_file(tmp_path: Path, text: str) -> Path:
    file = tmp_path / "study.toml"
    file.write_text(SMALL + text)
    return file


@pytest.mark.parametrize("name", ["openmpi", "mpich"])
def test_a_library_that_crashes_hangs_or_corrupts_costs_no_other_launch(
    command: Command, tmp_path: Path, name: str
) -> None:
    fault = build_fault(installed(name), tmp_path)
    text = 'benchmarks = ["latency"]\nlaunches = 2\nlaunch_limit = "5s"\n'
    text += f'[[library]]\nmpi = "{name}"\n'
    for kind in ("default", "crash", "hang", "corrupt"):
        env = f'LD_PRELOAD = "{fault}", NEARPEAK_FAULT = "{kind}"'
        text += f'[[library.settings]]\nname = "{kind}"\nenv = {{ {env} }}\n'
    code, out, err = command.run(study_file(tmp_path, text))
    assert (code, err) == (1, "")
    assert out.splitlines()[-1].startswith("Exit status 1: ")
    for words in ("crash crashed in 2 launches", "hang hung in 2 launches"):
        assert f"{name}@{words}" in out.splitlines()[-1]
    assert f"{name}@corrupt received wrong data in 2 launches" in out.splitlines()[-1]
    assert command.left_behind() == []

    begins = {record.launch: record for record in command.records(LaunchRecord)}
    statuses = Counter(
        (begins[end.launch].role, begins[end.launch].settings, end.status)
        for end in command.ends().values()
    )
    assert statuses == {
        ("ceiling", "", "ok"): 2,
        ("mpi", "default", "ok"): 2,
        ("mpi", "crash", "crashed"): 2,
        ("mpi", "hang", "hung"): 2,
        ("mpi", "corrupt", "wrong data"): 2,
    }
    sampled = Counter(begins[record.launch].settings for record in command.records(SamplesRecord))
    crashes = [end.message for end in command.ends().values() if end.status == "crashed"]
    assert all(message.startswith("ended by SIGSEGV: ") for message in crashes)
    assert sampled["default"] == 2 * 2  # sizes x launches
    problems = command.records(ProblemRecord)
    assert {begins[problem.launch].settings for problem in problems} == {"corrupt"}
    assert {(problem.status, problem.rank, problem.byte) for problem in problems} == {
        ("wrong data", 1, 3)
    }
    for launch, end in command.ends().items():
        assert end.log is not None
        assert (command.folder / end.log).exists(), launch
    assert (command.folder / "report.html").exists()
    assert str(command.folder / "report.html") in out.replace("\n", "")


def test_a_part_that_crashes_takes_nothing_along(command: Command, tmp_path: Path) -> None:
    name = "mpich"
    fault = build_fault(installed(name), tmp_path)
    env = f'LD_PRELOAD = "{fault}", NEARPEAK_FAULT = "put-crash"'
    text = 'benchmarks = ["latency", "put_latency"]\nlaunches = 5\n'
    text += f'[[library]]\nmpi = "{name}"\n'
    text += f'[[library.settings]]\nname = "faulty"\nenv = {{ {env} }}\n'
    code, _, err = command.run(study_file(tmp_path, text))
    assert (code, err) == (1, "")
    results = json.loads((command.folder / "results.json").read_text())
    cases = [(cell["case"], len(cell["launch_medians"])) for cell in results["cells"]]
    counts = {(case["benchmark"], case["x"]): launches for case, launches in cases}
    assert counts == {
        **{("latency", x): 5 for x in (8, 1024)},
        **{("put_latency", x): 0 for x in (8, 1024)},
    }
    assert {tuple(failure["benchmarks"]) for failure in results["failures"]} == {("put_latency",)}
    # Given up after the third; every launch of the ceiling and the last two were complete.
    assert Counter(end.status for end in command.ends().values()) == {"crashed": 3, "ok": 5 + 2}


def test_a_library_that_crashes_everywhere_ends_with_status_1(
    command: Command, tmp_path: Path
) -> None:
    name = "mpich"
    fault = build_fault(installed(name), tmp_path)
    env = f'LD_PRELOAD = "{fault}", NEARPEAK_FAULT = "crash"'
    text = f'benchmarks = ["latency"]\nlaunches = 2\n[[library]]\nmpi = "{name}"\n'
    text += f'[[library.settings]]\nname = "broken"\nenv = {{ {env} }}\n'
    file = study_file(tmp_path, text)
    required = "host-host same-numa:latency>=0.1"
    code, out, err = command.run(file, "--require", required)
    assert (code, err) == (1, "")
    *_, judged, last = out.splitlines()
    assert judged.startswith(
        f"Required {required}: {name}@broken missed it: latency at 8 B was not measured (crashed in"
    )
    assert last == (
        f"Exit status 1: the report lacks figures: {name}@broken crashed in 2 launches, and nothing"
        " was measured; 1 of 1 requirement missed"
    )
    assert out.count("2 launches failed and lost figures: mpich@broken, 2 of 2 on ") == 1
    assert json.loads((command.folder / "results.json").read_text())["failures"]


def test_ctrl_c_keeps_what_was_recorded_and_resume_completes_it(
    command: Command, tmp_path: Path
) -> None:
    installed("mpich")
    file = study_file(tmp_path, 'benchmarks = ["latency"]\nlaunches = 2\nmpi = ["mpich"]\n')
    process = command.start_and_wait_for_samples(file)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=LIMIT)
    assert process.returncode == 130, err
    assert f"nearpeak study --resume -o {command.folder}" in out + err
    assert command.left_behind() == []
    assert command.records(StudyEndRecord)[-1].status == "interrupted"
    assert command.records(SamplesRecord)
    assert (command.folder / "report.html").exists()

    before = (command.folder / "records.jsonl").read_bytes()
    code, _, err = command.run("--resume")
    assert (code, err) == (0, "")
    assert (command.folder / "records.jsonl").read_bytes().startswith(before)
    assert {end.status for end in command.ends().values()} == {"ok"}
    assert set(command.ends()) == command.planned()
    assert command.records(StudyEndRecord)[-1].status == "complete"


def test_a_killed_study_loses_nothing_but_its_half_line(command: Command, tmp_path: Path) -> None:
    installed("mpich")
    file = study_file(tmp_path, 'benchmarks = ["latency"]\nlaunches = 2\nmpi = ["mpich"]\n')
    process = command.start_and_wait_for_samples(file)
    process.kill()
    process.communicate(timeout=LIMIT)
    assert command.all_end_soon(), command.left_behind()
    records = command.folder / "records.jsonl"
    whole = records.read_bytes()
    whole = whole[: whole.rindex(b"\n") + 1]
    records.write_bytes(whole + b'{"record":"samples","lau')

    code, _, err = command.run("--resume")
    assert (code, err) == (0, "")
    assert records.read_bytes().startswith(whole)
    assert set(command.ends()) == command.planned()
    assert {end.status for end in command.ends().values()} == {"ok"}


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 128 KiB that can be made larger with `mount -o remount`; needs root."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=128k", "tmpfs", str(disk)]
    done = subprocess.run(mount, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"cannot mount a small disk: {done.stderr.strip()}")
    yield disk
    subprocess.run(["umount", "--lazy", str(disk)], check=True)


def test_a_full_disk_stops_the_study_and_resume_completes_it(
    tiny_disk: Path, tmp_path: Path
) -> None:
    installed("mpich")
    command = Command(tiny_disk / "study")
    text = 'benchmarks = ["latency"]\nlaunches = 3\nmpi = ["mpich"]\nsizes = "0:4K"\n'
    file = tmp_path / "study.toml"
    file.write_text(SMALL.replace('sizes = "8,1K"\n', "") + text)
    code, _, err = command.run(file)
    assert code == 1
    assert err.startswith(f"nearpeak: no space is left for {command.folder}: free some, then ")
    assert err.count("\n") == 1
    assert command.left_behind() == []
    whole = (command.folder / "records.jsonl").read_bytes()
    assert whole.endswith(b"\n")
    assert set(command.ends()) < command.planned()

    subprocess.run(["mount", "-o", "remount,size=64m", str(tiny_disk)], check=True)
    code, _, err = command.run("--resume")
    assert (code, err) == (0, "")
    assert (command.folder / "records.jsonl").read_bytes().startswith(whole)
    assert set(command.ends()) == command.planned()
    assert {end.status for end in command.ends().values()} == {"ok"}
