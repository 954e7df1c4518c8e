# SPDX-License-Identifier: Apache-2.0
"""Studies in jobs of a real Slurm: ended from outside and completed in another job."""

import os
import re
import shlex
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

from study_in_jobs import NEARPEAK, OPTIONS, records, wait

from nearpeak.libraries.build import build_mpi, build_native


def ranks(slurm: Any, host: int) -> list[int]:
    """Processes of the measuring programs on a node."""
    return [pid for pid, line in slurm.hosts.processes(host).items() if "build/" in line]


def test_the_same_script_completes_a_study_that_was_cancelled_and_killed(
    slurm: Any, installed: Callable[[str], Any], tmp_path: Path
) -> None:
    build_mpi(installed("mpich"))
    build_native()
    (tmp_path / "study.toml").write_text(OPTIONS)
    study, script = tmp_path / "study", tmp_path / "job.sh"
    nodes = f"--nodelist={','.join(slurm.hosts.names[:2])}"
    words = [str(tmp_path / "study.toml"), "-o", str(study), "--sbatch", str(script)]
    assert slurm.run([NEARPEAK, "study", *words]).returncode == 0

    def ended_after(kind: str, *how: str) -> None:
        """A job of the script, ended by scancel behind its first record of a kind."""
        before = len(records(study, kind))
        submit = ["sbatch", "--nodes=2", nodes, "--parsable", "--output=/dev/null", str(script)]
        job = slurm.run(submit).stdout.strip()
        wait(lambda: len(records(study, kind)) > before, f"the first {kind}")
        slurm.run(["scancel", *how, job])
        wait(lambda: not slurm.run(["squeue", "--noheader"]).stdout, "the end of the job")
        assert not ranks(slurm, 0) + ranks(slurm, 1)

    ended_after("launch end")
    [end] = records(study, "study end")
    assert (end["status"], end["message"]) == ("interrupted", "the job was cancelled")
    assert (study / "report.html").exists()
    # As what follows on SIGTERM after KillWait, in the middle of a launch.
    ended_after("environment", "--signal=KILL", "--batch")
    assert records(study, "study end") == [end]

    done = slurm.run(slurm.job(2, ["sh", str(script)]))
    assert done.returncode == 0, done.stdout + done.stderr
    ended = [record["status"] for record in records(study, "launch end")]
    assert ended.count("ok") >= 4  # 2 blocks of a library and a ceiling
    assert set(ended) <= {"ok", "interrupted"}
    assert records(study, "study end")[-1]["status"] == "complete"
    for record in records(study, "environment"):
        assert [rank["host"] for rank in record["ranks"]] == list(slurm.hosts.names[:2])


def test_a_node_that_dies_ends_the_launch_and_then_the_job(
    slurm: Any, installed: Callable[[str], Any], tmp_path: Path
) -> None:
    build_mpi(installed("mpich"))
    build_native()
    (tmp_path / "study.toml").write_text(OPTIONS.replace("slot_ms = 100", "slot_ms = 60000"))
    study, dead = tmp_path / "study", slurm.hosts.names[1]
    command = ["exec", NEARPEAK, "study", str(tmp_path / "study.toml"), "-o", str(study)]
    nodes = f"--nodelist={','.join(slurm.hosts.names[:2])}"
    asked = [nodes, "--exclusive", "--time=30", "--no-requeue", "--output=/dev/null"]
    assert slurm.run(["sbatch", *asked, "--wrap", shlex.join(command)]).returncode == 0
    try:
        wait(lambda: bool(records(study, "environment")), "a launch")
        for pid in slurm.hosts.processes(1):  # its daemon among them
            os.kill(pid, signal.SIGKILL)
        wait(lambda: bool(records(study, "launch end")), "the end of the launch")
        # As Slurm does when a node has not answered for SlurmdTimeout.
        slurm.run(["scontrol", "update", f"nodename={dead}", "state=down", "reason=died"])
        wait(lambda: not slurm.run(["squeue", "--noheader"]).stdout, "the end of the job")
    finally:
        slurm.start_node(1)
    assert records(study, "launch end")[0]["status"] in ("crashed", "failed")
    [end] = records(study, "study end")
    assert (end["status"], end["message"]) == ("interrupted", "a node of the job failed")
    assert (study / "report.html").exists()
    assert not ranks(slurm, 0) + ranks(slurm, 1)


def with_left(folder: Path, left: str) -> str:
    """A PATH on which Slurm says that jobs have so much time left, and all else as it is."""
    folder.mkdir()
    real = shutil.which("squeue")
    (folder / "squeue").write_text(
        f'#!/bin/sh\ncase "$*" in *%L*) echo {left} ;; *) exec {real} "$@" ;; esac\n'
    )
    (folder / "squeue").chmod(0o755)
    return f"{folder}:{os.environ['PATH']}"


def test_what_a_job_had_no_time_for_is_measured_in_another(
    slurm: Any, installed: Callable[[str], Any], tmp_path: Path
) -> None:
    build_mpi(installed("mpich"))
    build_native()
    (tmp_path / "study.toml").write_text(OPTIONS.replace("launches = 2", "launches = 400"))
    study = tmp_path / "study"
    begun = [NEARPEAK, "study", str(tmp_path / "study.toml"), "-o", str(study)]
    done = slurm.run(slurm.job(1, begun), PATH=with_left(tmp_path / "short", "0:34"))
    assert done.returncode == 1, done.stderr
    assert "Of the budget of 10m00s, 4.0 s are used now: job " in done.stderr
    assert "interrupted: the job has no time left for another block" in done.stdout
    assert f"Complete it in another job: nearpeak study --resume -o {study}" in done.stdout
    assert (study / "report.html").exists()

    words = [NEARPEAK, "study", "--resume", "-o", str(study)]
    done = slurm.run(slurm.job(1, words), PATH=with_left(tmp_path / "again", "0:31"))
    left = r"; 9m\d\ds of the budget are left, 1.0 s in this job"
    assert re.search(left, done.stdout), done.stdout
    assert len(records(study, "session")) == 2


def test_nodes_that_a_job_had_no_time_for_are_measured_in_another(
    slurm: Any, installed: Callable[[str], Any], tmp_path: Path
) -> None:
    build_mpi(installed("mpich"))
    folder, script = tmp_path / "nodes", tmp_path / "job.sh"
    words = ["--slot-ms", "2", "--large", "64K", "--launches", "4", "-o", str(folder)]
    words = [NEARPEAK, "nodes", "--mpi", "mpich", *words]
    done = slurm.run([*words, "--nodes", "3", "--sbatch", str(script)])
    assert done.returncode == 0, done.stderr
    done = slurm.run(slurm.job(3, words), PATH=with_left(tmp_path / "short", "0:31"))
    assert done.returncode == 1, done.stderr
    assert "1.0 s are measured, not 8.3 s: job " in done.stderr
    assert "launch 1 is not begun: the job has no time left for it" in done.stdout
    assert f"Complete it in another job: nearpeak nodes --resume -o {folder}" in done.stdout
    assert done.stdout.splitlines()[-1] == "Exit status 1: not all launches were run"
    assert (folder / "nodes.html").exists()

    done = slurm.run(slurm.job(3, ["sh", str(script)]))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "launch 4 of 4: 3 of 3 rounds" in done.stdout
