# SPDX-License-Identifier: Apache-2.0
"""A figure session by session, as bars and as a drawing."""

from nearpeak.document.sparkline import sparkline


def test_it_has_a_bar_and_a_dot_for_each_session() -> None:
    value = sparkline([1.0, None, 0.5], [2], 0.05, "the mean of the old side")
    assert value.text == "█ |▁"
    drawing = value.drawing or ""
    assert drawing.count('class="old"') == 1
    assert drawing.count('class="new"') == 1
    assert "relative to the mean of the old side: 1.00, –, 0.500" in drawing


def test_an_empty_side_is_behind_the_line() -> None:
    assert sparkline([1.0, 1.0, None], [2], 0.05, "the mean").text == "▅▅| "
    assert sparkline([1.0, 1.0], [2], 0.05, "the mean").text == "▅▅|"


def test_only_the_newest_sessions_have_bars() -> None:
    values = [0.5] * 30 + [1.0] * 12 + [0.9] * 12
    text = sparkline(values, [30, 42], 0.05, "the mean").text
    assert text == "█" * 12 + "|" + "▁" * 12
    drawing = sparkline(values, [30, 42], 0.05, "the mean").drawing or ""
    assert drawing.count("<circle") == 54
    assert drawing.count('class="new"') == 12


def test_without_a_change_all_dots_are_alike() -> None:
    value = sparkline([1.0, 1.0], [], 0.05, "the first level")
    assert (value.drawing or "").count('class="old"') == 2
    assert sparkline([None, None], [], 0.05, "the first level").text == "  "
