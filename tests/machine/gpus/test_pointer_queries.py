# SPDX-License-Identifier: Apache-2.0
"""nearpeak.machine.gpus.pointer_queries, by a driver that is slow and one that is not."""

import subprocess
from pathlib import Path

import pytest

from nearpeak.libraries.build import compiler, preloaded_sources
from nearpeak.machine.gpus.pointer_queries import excess_us

SLOW_US = 200.0  # no load makes a call so slow in each of 400 times


@pytest.fixture
def driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A library that stands in for CUDA's driver."""
    source = preloaded_sources() / "tests" / "queries" / "fake_driver.cpp"
    library = tmp_path / "libcuda.so.1"
    words = ["-std=c++20", "-O1", "-shared", "-fPIC", str(source), "-o", str(library)]
    subprocess.run([*compiler(), *words], check=True)
    monkeypatch.setenv("NEARPEAK_CUDA_LIBRARY", str(library))
    return library


@pytest.mark.usefixtures("driver")
def test_a_driver_with_a_dear_question_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_QUERY_US", f"{SLOW_US:g}")
    monkeypatch.setenv("LD_PRELOAD", "/nowhere/libnearpeak-queries.so")  # a profile's: left out
    excess = excess_us()
    assert excess is not None
    assert excess > SLOW_US / 2


@pytest.mark.usefixtures("driver")
def test_a_driver_that_answers_both_alike_is_not_dear() -> None:
    excess = excess_us()
    assert excess is not None
    assert excess < SLOW_US / 2


@pytest.mark.usefixtures("driver")
def test_without_a_context_nothing_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_NO_CONTEXT", "1")
    assert excess_us() is None


def test_without_a_driver_nothing_is_known(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("NEARPEAK_CUDA_LIBRARY", str(tmp_path / "none.so"))
    assert excess_us() is None
