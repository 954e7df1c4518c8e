# SPDX-License-Identifier: Apache-2.0
"""Studies in jobs of a batch system: their options, their records, and waiting for both.

Tests import it by its name: `from study_in_jobs import records` (tests/conftest.py).
"""

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mpi_launches import LIMIT

NEARPEAK = str(Path(sys.executable).with_name("nearpeak"))
OPTIONS = """\
mpi = ["mpich"]
benchmarks = ["latency"]
sizes = "8"
slot_ms = 100
launches = 2
budget = "10m"
"""


def wait(there: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + LIMIT
    while not there():
        assert time.monotonic() < deadline, f"waited in vain for {what}"
        time.sleep(0.1)


def records(folder: Path, kind: str) -> list[dict[str, Any]]:
    file = folder / "records.jsonl"
    lines = file.read_text().splitlines() if file.exists() else []
    return [record for line in lines if (record := json.loads(line))["record"] == kind]
