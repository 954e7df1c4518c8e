# SPDX-License-Identifier: Apache-2.0
"""`nearpeak nodes` in jobs of a real Slurm that knows the switches of its nodes."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mpi_launches import SLEEPS

from nearpeak.libraries.build import build_mpi

NEARPEAK = str(Path(sys.executable).with_name("nearpeak"))
QUICK = ["--slot-ms", "1", "--large", "16K", "--launches", "4", "--seed", "1"]
RATE = "100mbit"
CANNOT = "the kernel cannot slow an interface down (tbf)"


def found(slurm: Any, folder: Path) -> tuple[int, str, Any]:
    """The exit status, the output and the results of a run on all nodes."""
    words = [NEARPEAK, "nodes", "--mpi", "mpich", *QUICK, "-o", str(folder)]
    done = slurm.run(slurm.job(4, words), timeout=600, **SLEEPS)
    assert (folder / "nodes.json").exists(), done.stderr
    return done.returncode, done.stdout, json.loads((folder / "nodes.json").read_text())


@pytest.fixture
def slurm(slurm_of_two_leaves: Any, installed: Callable[[str], Any]) -> Any:
    build_mpi(installed("mpich"))
    return slurm_of_two_leaves


def test_no_node_is_called_slow_for_a_slow_uplink(slurm: Any, tmp_path: Path) -> None:
    with slurm.hosts.slowed(RATE) as slowed:
        if not slowed:
            pytest.skip(CANNOT)
        _, out, results = found(slurm, tmp_path / "nodes")
    assert [[group["nodes"] for group in level["groups"]] for level in results["levels"]] == [
        [[0, 1], [2, 3]]
    ]
    assert "groups:     2 leaf switches, by Slurm" in out
    bandwidth = [curve for curve in results["curves"] if curve["metric"] == "bandwidth_gbs"]
    assert "bandwidth_gbs" not in {verdict["metric"] for verdict in results["verdicts"]}, out
    for curve in bandwidth:
        within, between = (distance["usual"] for distance in curve["distances"])
        assert within > 1.5 * between


def test_a_slow_node_is_found_below_its_switch(slurm: Any, tmp_path: Path) -> None:
    with slurm.hosts.slowed(RATE, host=3) as slowed:
        if not slowed:
            pytest.skip(CANNOT)
        status, out, results = found(slurm, tmp_path / "nodes")
    nodes = {
        tuple(verdict["nodes"])
        for verdict in results["verdicts"]
        if (verdict["kind"], verdict["metric"]) == ("node", "bandwidth_gbs")
    }
    assert nodes == {(slurm.hosts.names[3],)}, out
    assert status == 1
