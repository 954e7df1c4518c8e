# SPDX-License-Identifier: Apache-2.0
"""What a job of Slurm changes of what was asked for."""

import pytest

from nearpeak.machine import allocation
from nearpeak.planning.options import Options
from nearpeak.planning.prepare import within_job
from nearpeak.planning.usual import USUAL_SECONDS


@pytest.mark.parametrize(
    ("options", "left", "now", "said"),
    [
        (Options(budget_seconds=600.0), 90.0, 90.0, "Of the budget of 10m00s, 1m30s are used now:"),
        (Options(budget_seconds=60.0), 90.0, None, ""),
        (Options(budget_seconds=600.0), None, None, ""),
        (Options(), 90.0, None, "The budget is 1m30s: job 7 ends soon after"),
        (Options(), 2 * USUAL_SECONDS, None, ""),
        (Options(launches=3), 90.0, None, ""),
    ],
)
def test_the_time_that_a_job_has_left_bounds_what_is_used_of_the_budget(
    monkeypatch: pytest.MonkeyPatch,
    options: Options,
    left: float | None,
    now: float | None,
    said: str,
) -> None:
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    monkeypatch.setattr(allocation, "measuring_seconds", lambda: left)
    lines: list[str] = []
    found = within_job(options, lines.append)
    budget = options.budget_seconds if options.budget_seconds or not said else left
    assert (found.budget_seconds, found.job_seconds) == (budget, now)
    assert [line.startswith(said) for line in lines] == ([True] if said else [])
