# SPDX-License-Identifier: Apache-2.0
"""A study that is killed at a few random moments loses and leaves nothing. KILLED_MOMENTS=100 kills
it more often."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "killed.py"


def test_killed_at_random_moments(installed: Callable[[str], Any], tmp_path: Path) -> None:
    installed("mpich")
    moments = os.environ.get("KILLED_MOMENTS", "3")
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "--moments", moments, "--tmp", str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{moments} moments, 0 with something lost or left" in done.stdout
