# SPDX-License-Identifier: Apache-2.0
"""What .ci/skips.py finds in the reports of pytest and ctest."""

import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import pytest

SKIPS = Path(__file__).parents[1] / ".ci" / "skips.py"
NO_GPU = "no CUDA device on this machine"
TEST = """
import pytest
{collected}

@pytest.fixture
def device():
    pytest.skip({reason!r})

def test_device(device):
    pass

def test_nothing():
    pass
"""


def judge(*reports: Path) -> tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, SKIPS, *reports], capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout, done.stderr


def log(folder: Path, reason: str) -> Path:
    """As ctest reports what doctest prints."""
    file = folder / "sanitize.xml"
    printed = f"TEST CASE:  a device\n\n/x/device_test.cpp:57: MESSAGE: skipped: {escape(reason)}\n"
    file.write_text(
        '<testsuite><testcase name="nearpeak-tests" classname="nearpeak-tests" status="run">'
        f"<system-out>{printed}</system-out></testcase></testsuite>"
    )
    return file


def report(folder: Path, reason: str, collected: str = "") -> Path:
    """Of a real run of pytest."""
    (folder / "test_device.py").write_text(TEST.format(reason=reason, collected=collected))
    file = folder / "pytest.xml"
    command = [sys.executable, "-m", "pytest", "-q", f"--junitxml={file}", folder]
    subprocess.run(command, cwd=folder, capture_output=True, check=False)
    return file


def test_reasons_on_the_list_are_allowed(tmp_path: Path) -> None:
    code, out, err = judge(report(tmp_path, NO_GPU), log(tmp_path, NO_GPU))
    assert (code, err) == (0, "")
    assert out.startswith("2 tests were skipped")


@pytest.mark.parametrize("make", [report, log])
def test_any_other_fails(tmp_path: Path, make: Any) -> None:
    file = make(tmp_path, "no <device> on Tuesdays")
    code, out, err = judge(file)
    assert (code, out) == (1, "")
    assert err.splitlines()[1:] == [f"{file}: no <device> on Tuesdays"]


def test_a_whole_file_may_never_be_skipped(tmp_path: Path) -> None:
    collected = f"pytest.skip({NO_GPU!r}, allow_module_level=True)"
    file = report(tmp_path, NO_GPU, collected)
    code, _, err = judge(file)
    assert (code, err.splitlines()[1:]) == (1, [f"{file}: collection skipped"])
