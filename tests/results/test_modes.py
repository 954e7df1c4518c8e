# SPDX-License-Identifier: Apache-2.0
"""Figures that are told first and have two modes."""

from typing import Any

import pytest


def test_of_each_path_the_figure_whose_modes_are_farthest_apart(make_study: Any) -> None:
    study = make_study()
    for block in range(6):
        far = block % 2
        study.launch(block, "alpha", "latency", {8: 0.36 if far else 0.13, 1024: 9.0 if far else 1})
        study.launch(block, "alpha", "bw", {8: 1.0, 1024: 20.0 if far else 10.0})
    (found,) = study.results().modes
    assert (found.who.library, found.case.benchmark, found.case.x) == ("alpha", "latency", 8)
    assert [mode.median for mode in found.modes] == pytest.approx([0.13, 0.36])
    assert [mode.share for mode in found.modes] == [0.5, 0.5]
    assert found.others == 1  # bw at 1 KiB: other sizes are not told first


def test_one_mode_is_not_told(make_study: Any) -> None:
    study = make_study()
    for block in range(6):
        study.launch(block, "alpha", "latency", {8: 0.13 + 0.001 * block})
    assert study.results().modes == []
