# SPDX-License-Identifier: Apache-2.0
"""Studies in jobs of a real Flux: ended from outside and completed in another job."""

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mpi_launches import LIMIT
from study_in_jobs import NEARPEAK, OPTIONS, records, wait

from nearpeak.libraries.build import build_mpi, build_native


@pytest.mark.parametrize("how", [["cancel"], ["job", "kill", "--signal=KILL"]])
def test_a_study_that_was_ended_is_completed_in_another_job(
    flux: Any, installed: Callable[[str], Any], tmp_path: Path, how: list[str]
) -> None:
    build_mpi(installed("mpich"))
    build_native()
    (tmp_path / "study.toml").write_text(OPTIONS)
    study = tmp_path / "study"
    command = [NEARPEAK, "study", str(tmp_path / "study.toml"), "-o", str(study)]
    script = tmp_path / "job.sh"
    script.write_text(f"#!/bin/sh\nexec {shlex.join(command)}\n")
    asked = ["--nodes=2", "--exclusive", "--output=/dev/null"]
    job = flux.run(["flux", "batch", *asked, str(script)]).stdout.strip()
    wait(lambda: bool(records(study, "launch end")), "the first launch")
    assert flux.run(["flux", *how, job]).returncode == 0
    assert flux.run(["flux", "job", "wait-event", job, "clean"]).returncode == 0
    for host in (0, 1):
        ranks = [line for line in flux.hosts.processes(host).values() if "build/" in line]
        assert not ranks
    ends = [end["status"] for end in records(study, "study end")]
    assert ends == (["interrupted"] if how == ["cancel"] else [])

    done = flux.run(flux.job(2, [NEARPEAK, "study", "--resume", "-o", str(study)]), timeout=LIMIT)
    assert done.returncode == 0, done.stdout + done.stderr
    assert records(study, "study end")[-1]["status"] == "complete"
    for record in records(study, "environment"):
        assert [rank["host"] for rank in record["ranks"]] == list(flux.hosts.names[:2])
