# SPDX-License-Identifier: Apache-2.0
"""A run of `nearpeak nodes`: how its report ends."""

import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import msgspec
import numpy as np
import pytest
from made_libraries import made_library

from nearpeak.arrays import Floats, Indices
from nearpeak.runs import nodes

Nearpeak = Callable[..., tuple[int, str, str]]

made = sys.modules["made_nodes"]  # loaded by tests/conftest.py


@pytest.mark.parametrize(("launches", "status"), [(None, 0), (2, 1)])
def test_what_is_not_complete_is_not_well(
    nearpeak: Nearpeak, tmp_path: Path, launches: int | None, status: int
) -> None:
    def usual(pairs: Indices, _together: bool) -> tuple[Floats, Floats]:
        return np.ones(len(pairs)), np.ones(len(pairs))

    made.record(tmp_path, made.chosen(6), usual, launches)
    code, out, _ = nearpeak("report", str(tmp_path))
    assert code == status
    assert ("Exit status 1: not all launches were run" in out) == bool(status)


@pytest.mark.parametrize("times", [1.0, 1.5])
def test_a_report_has_the_exit_status_of_the_run(
    nearpeak: Nearpeak, tmp_path: Path, times: float
) -> None:
    def slow(pairs: Indices, _together: bool) -> tuple[Floats, Floats]:
        return np.where((pairs == 2).any(axis=1), times, 1.0), np.ones(len(pairs))

    made.record(tmp_path, made.chosen(6), slow)
    code, out, _ = nearpeak("report", str(tmp_path))
    assert code == int(times > 1)
    assert ("1 slow node" in out) == (times > 1)
    assert (tmp_path / "nodes.json").exists()
    assert (tmp_path / "nodes.html").exists()
    code, _, err = nearpeak("report", str(tmp_path), "--require", "x:bw>=1")
    assert code == 2
    assert "is not a requirement of nodes" in err
    code, _, err = nearpeak("report", str(tmp_path), "--beside", "summit-2019")
    assert code == 2
    assert "is of `nearpeak nodes`" in err


def test_a_report_judges_by_the_requirements_of_the_run_or_by_others(
    nearpeak: Nearpeak, tmp_path: Path
) -> None:
    def usual(pairs: Indices, _together: bool) -> tuple[Floats, Floats]:
        return np.ones(len(pairs)), np.ones(len(pairs))

    chosen = msgspec.structs.replace(made.chosen(6), require=["bandwidth>=1000GB/s"])
    made.record(tmp_path, chosen, usual)
    junit = tmp_path / "junit.xml"
    code, out, _ = nearpeak("report", str(tmp_path), "--junit", str(junit))
    assert code == 1
    assert "Required bandwidth>=1000GB/s: missed" in out
    assert out.splitlines()[-1] == "Exit status 1: 1 of 1 requirement missed"
    assert ElementTree.parse(junit).getroot().get("failures") == "1"
    code, out, _ = nearpeak("report", str(tmp_path), "--require", "bandwidth>=1kB/s")
    assert code == 0
    assert "Required bandwidth>=1kB/s: met" in out


@pytest.mark.parametrize(
    ("netmod", "given", "adapters"),
    [("ucx", None, ["mlx5_0:1"]), ("ofi", None, [""]), ("ofi", "mlx5_7:1", ["mlx5_7:1"])],
)
def test_a_library_that_does_not_send_by_ucx_chooses_its_adapters(
    monkeypatch: pytest.MonkeyPatch, netmod: str, given: str | None, adapters: list[str]
) -> None:
    library = made_library(family="mpich", version_text=f"MPICH Device: ch4:{netmod}\n")
    monkeypatch.delenv("MPIR_CVAR_CH4_NETMOD", raising=False)
    monkeypatch.setattr(nodes, "why_missing", lambda _: [])
    monkeypatch.setattr(nodes.libraries, "resolve", lambda _: library)
    monkeypatch.setattr(nodes.rails, "forced_adapters", lambda _: {0: "mlx5_0:1"})
    gpu = SimpleNamespace(index=0, number="0")
    monkeypatch.setattr(nodes.discover, "discover", lambda: SimpleNamespace(gpus=[gpu]))
    asked = {"--buffers": "D,D", "--gpus": None, "--adapters": given}
    options = nodes.of_gpus(asked, "mpich", is_node=True)
    assert [rail.adapter for rail in options["rails"]] == adapters
