# SPDX-License-Identifier: Apache-2.0
"""One-sided communication with device memory, with the layer before a library that knows none."""

import re
from pathlib import Path
from typing import Any

import pytest
from layer_programs import cases_of

NEEDS_DEVICES_APART = ("apart", "untried")
CASES = [case for case in cases_of("windows") if case not in NEEDS_DEVICES_APART]
ACCESSES = re.compile(r"(\d+) accesses to windows")


@pytest.fixture(scope="session")
def of_two(windows: Any) -> Any:
    """All cases between two ranks, which have a device each."""
    return windows.run(*CASES, env={"NEARPEAK_LAYER_REPORT": "1"})


@pytest.fixture(scope="session")
def of_three(windows: Any) -> Any:
    """All between three, of which two share a device; with MPI's calls open to several threads."""
    return windows.run("--multiple", *CASES, ranks=3)


@pytest.mark.parametrize("case", CASES)
def test_two_ranks(of_two: Any, case: str) -> None:
    assert case in of_two.good(), (of_two.out, of_two.err)


@pytest.mark.parametrize("case", CASES)
def test_three_ranks(of_three: Any, case: str) -> None:
    assert case in of_three.good(), (of_three.out, of_three.err)


def test_the_layer_copies(of_two: Any) -> None:
    assert of_two.code == 0
    counts = [int(found) for found in ACCESSES.findall(of_two.err)]
    assert len(counts) == 2
    assert min(counts) > 300


def test_all_are_told_why_a_window_is_not_made(of_three: Any) -> None:
    refused = [line for line in of_three.said() if "is not done" in line]
    assert len(refused) == 3
    assert all(
        "MPI_Win_create is not done with memory of a device that other processes" in line
        for line in refused
    )


@pytest.mark.parametrize("windows", ["mpich"], indirect=True)
def test_two_nodes(windows: Any, two_hosts: Any) -> None:
    """Windows of host memory alone."""
    cases = ["of_the_host", "apart"]
    done = windows.run(*cases, hosts=two_hosts)
    assert done.good() == cases, done.err
    assert sum("of ranks that share no machine" in line for line in done.said()) == 2


@pytest.mark.parametrize("windows", ["mpich"], indirect=True)
def test_kernels_copy(windows: Any, fake_nvrtc: Path) -> None:
    """What is short, and regular types."""
    variables = {
        "NEARPEAK_LAYER_REPORT": "1",
        "NEARPEAK_NVRTC_LIBRARY": str(fake_nvrtc),
        "NEARPEAK_LAYER_KERNEL": "100000",
    }
    cases = ["gaps", "added"]
    done = windows.run(*cases, fake="reachable=1,mps=1", env=variables)
    assert done.good() == cases, done.err
    kinds = re.findall(
        r"(\d+) of \d+ short copies by a kernel(?: \(.*\))?, (\d+) of datatypes", done.err
    )
    assert len(kinds) == 2
    assert min(int(moved) for _, moved in kinds) >= 3, done.err


@pytest.mark.parametrize("windows", ["mpich"], indirect=True)
class TestDevices:
    def test_that_do_not_reach_each_other(self, windows: Any) -> None:
        done = windows.run("elsewhere", "apart", fake="peer=0")
        assert done.good() == ["elsewhere", "apart"], done.err
        assert sum("does not reach" in line for line in done.said()) == 2

    def test_that_ranks_do_not_see(self, windows: Any) -> None:
        """A driver may open memory of them, or not."""
        for fake, case in (("", "moved"), ("withheld=1", "apart")):
            done = windows.run("--each-sees-one", case, fake=fake)
            assert done.good() == [case], done.err
