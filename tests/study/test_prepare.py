# SPDX-License-Identifier: Apache-2.0
"""What a job of Slurm changes of what was asked for."""

import pytest

from nearpeak.machine import allocation
from nearpeak.study.options import Options
from nearpeak.study.planning import USUAL_SECONDS
from nearpeak.study.prepare import within_job


@pytest.mark.parametrize(
    ("options", "left", "budget", "said"),
    [
        (Options(budget_seconds=600.0), 90.0, 90.0, "The budget is 1m30s, not 10m00s: job 7 ends"),
        (Options(budget_seconds=60.0), 90.0, 60.0, ""),
        (Options(budget_seconds=600.0), None, 600.0, ""),
        (Options(), 90.0, 90.0, "The budget is 1m30s, not 13m00s: job 7 ends"),
        (Options(), 2 * USUAL_SECONDS, None, ""),
        (Options(launches=3), 90.0, None, ""),
    ],
)
def test_the_time_that_a_job_has_left_bounds_the_budget(
    monkeypatch: pytest.MonkeyPatch,
    options: Options,
    left: float | None,
    budget: float | None,
    said: str,
) -> None:
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    monkeypatch.setattr(allocation, "measuring_seconds", lambda: left)
    lines: list[str] = []
    assert within_job(options, lines.append).budget_seconds == budget
    assert [line.startswith(said) for line in lines] == ([True] if said else [])
