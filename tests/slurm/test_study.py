# SPDX-License-Identifier: Apache-2.0
"""Studies in jobs of a real Slurm: ended from outside and completed in another job."""

import json
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from nearpeak.libraries.build import build_mpi, build_native

NEARPEAK = str(Path(sys.executable).with_name("nearpeak"))
WAIT_SECONDS = 30.0
OPTIONS = """\
mpi = ["mpich"]
benchmarks = ["latency"]
sizes = "8"
slot_ms = 100
launches = 2
budget = "10m"
"""


def wait(there: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + WAIT_SECONDS
    while not there():
        assert time.monotonic() < deadline, f"waited in vain for {what}"
        time.sleep(0.1)


def records(folder: Path, kind: str) -> list[dict[str, Any]]:
    file = folder / "records.jsonl"
    lines = file.read_text().splitlines() if file.exists() else []
    return [record for line in lines if (record := json.loads(line))["record"] == kind]


def ranks(slurm: Any, host: int) -> list[int]:
    """Processes of the measuring programs on a node."""
    return [pid for pid, line in slurm.hosts.processes(host).items() if "build/" in line]


def test_scancel_ends_a_study_and_the_same_script_completes_it(
    slurm: Any, installed: Callable[[str], Any], tmp_path: Path
) -> None:
    build_mpi(installed("mpich"))
    build_native()
    (tmp_path / "study.toml").write_text(OPTIONS)
    study, script = tmp_path / "study", tmp_path / "job.sh"
    words = [str(tmp_path / "study.toml"), "-o", str(study), "--sbatch", str(script)]
    assert slurm.run([NEARPEAK, "study", *words]).returncode == 0

    submit = ["sbatch", "--nodes=2", "--parsable", "--output=/dev/null", str(script)]
    job = slurm.run(submit).stdout.strip()
    wait(lambda: bool(records(study, "launch end")), "the first launch")
    slurm.run(["scancel", job])
    wait(lambda: not slurm.run(["squeue", "--noheader"]).stdout, "the end of the job")
    [end] = records(study, "study end")
    assert (end["status"], end["message"]) == ("interrupted", "ended by SIGTERM")
    assert not ranks(slurm, 0) + ranks(slurm, 1)
    assert (study / "report.html").exists()

    done = slurm.run(slurm.job(2, ["sh", str(script)]))
    assert done.returncode == 0, done.stdout + done.stderr
    ended = [record["status"] for record in records(study, "launch end")]
    assert ended[-4:] == ["ok"] * 4  # 2 blocks of a library and a ceiling
    assert set(ended) <= {"ok", "interrupted"}
    assert records(study, "study end")[-1]["status"] == "complete"
    for record in records(study, "environment"):
        assert [rank["host"] for rank in record["ranks"]] == list(slurm.hosts.names[:2])


def test_a_node_that_dies_ends_the_launch(
    slurm: Any, installed: Callable[[str], Any], tmp_path: Path
) -> None:
    build_mpi(installed("mpich"))
    words = ["latency", "--mpi", "mpich", "--sizes", "8", "--slot-ms", "60000"]
    running = slurm.start(slurm.job(2, [NEARPEAK, "run", *words]), tmp_path / "log")
    try:
        wait(lambda: "--slot-ms 60000" in str(slurm.hosts.processes(1)), "the ranks")
        for pid in slurm.hosts.processes(1):  # its daemon among them
            os.kill(pid, signal.SIGKILL)
        assert running.wait(WAIT_SECONDS) == 1
    finally:
        running.kill()
        slurm.start_node(1)
    assert "nearpeak: the launch failed (mpirun" in (tmp_path / "log").read_text()
    assert not ranks(slurm, 0) + ranks(slurm, 1)
