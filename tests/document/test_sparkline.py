# SPDX-License-Identifier: Apache-2.0
"""The history of a change, as bars and as a drawing."""

from collections.abc import Callable
from pathlib import Path

from nearpeak.compare.history import history

from nearpeak.compare.build import compare
from nearpeak.compare.load import load_side

MakeSides = Callable[..., Path]


def test_it_has_a_bar_and_a_dot_for_each_session(make_sides: MakeSides) -> None:
    old = load_side([make_sides(f"old{day}", day=day) for day in (1, 2)])
    compared = compare(old, load_side([make_sides("new", day=3, factor=0.5)]), 0.05)
    change = compared.libraries[0].change
    drawing = history(change, compared).drawing or ""
    assert drawing.count('class="old"') == 2
    assert drawing.count('class="new"') == 1
    change.history = [1.0, None, 0.5]
    value = history(change, compared)
    assert value.text == "█ |▁"
    assert value.drawing is not None
    assert value.drawing.count("<circle") == 2
    assert "–" in value.drawing
    change.history = [1.0, 1.0, None]
    assert history(change, compared).text == "▅▅| "
