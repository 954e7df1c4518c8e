# SPDX-License-Identifier: Apache-2.0
"""Process trees, run for real."""

import sys
from pathlib import Path

import pytest

from nearpeak.launching.process import run_tree

TALKS = "import time\nfor _ in range(8): print('.', flush=True); time.sleep(0.5)"


@pytest.mark.parametrize(("watched", "end"), [(True, "exited"), (False, "hung")])
def test_a_program_hangs_when_it_gets_nowhere_and_not_when_it_takes_long(
    tmp_path: Path, watched: bool, end: str
) -> None:
    log = tmp_path / "log"
    sizes = [0]

    def grown() -> bool:
        sizes.append(log.stat().st_size)
        return sizes[-1] > sizes[-2]

    outcome = run_tree(
        [sys.executable, "-c", TALKS],
        env={},
        log=log,
        limit_seconds=2.0,
        tick=grown if watched else lambda: False,
    )
    assert outcome.end == end
