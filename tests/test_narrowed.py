# SPDX-License-Identifier: Apache-2.0
"""The plain CPU that `make test` tests what computes on (narrowed.py)."""

import subprocess
import sys
from pathlib import Path

TEST = """
def test_features():
    from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__
    assert not any(__cpu_features__[name] for name in __cpu_dispatch__)
"""


def test_numpy_does_without_what_it_dispatches_on(tmp_path: Path) -> None:
    file = tmp_path / "test_features.py"
    file.write_text(TEST)
    done = subprocess.run(
        [sys.executable, Path(__file__).with_name("narrowed.py"), "-W", "error", "-q", file],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert "1 passed" in done.stdout
