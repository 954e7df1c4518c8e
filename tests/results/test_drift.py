# SPDX-License-Identifier: Apache-2.0
"""Drift: probes against their own kind, and the flag of the cells in a block that went astray."""

from typing import Any

import pytest

MakeStudy = Any


def test_a_block_that_went_astray_flags_its_cells(make_study: MakeStudy) -> None:
    study = make_study()
    for block in range(6):
        study.ceiling(block, {}, probe=7.0 if block == 2 else 10.0)
        study.launch(block, "alpha", "bw" if block == 2 else "latency", {1024: 1.0})
    results = study.results()
    assert [(d.block, d.flagged) for d in results.drift] == [(b, b == 2) for b in range(6)]
    assert results.drift[2].deviation == pytest.approx(-0.3)
    assert results.drift[2].probe_gbs == 7.0
    assert "drift" in study.find(results, "bw", 1024, "alpha").flags
    assert "drift" not in study.find(results, "latency", 1024, "alpha").flags


def test_probes_of_different_paths_are_not_mixed(make_study: MakeStudy) -> None:
    study = make_study()
    for block in range(6):
        study.ceiling(block, {}, probe=10.0)
        if block % 2:
            study.ceiling(block, {}, probe=4.0, path="host-memory node1")
    study.launch(0, "alpha", "bw", {8: 1.0})
    assert [d.deviation for d in study.results().drift] == [0.0] * 6


def test_no_probe_no_drift(make_study: MakeStudy) -> None:
    study = make_study()
    study.launch(0, "alpha", "bw", {8: 1.0})
    assert study.results().drift == []
