# SPDX-License-Identifier: Apache-2.0
"""The page of a comparison in a real browser: silent, alone, and no wider than the window."""

from collections.abc import Callable
from pathlib import Path

import pytest

from browser import Browser
from nearpeak.compare.build import compare
from nearpeak.compare.load import load_side
from nearpeak.compare.present import present
from nearpeak.document.page import render

MakeSides = Callable[..., Path]


@pytest.mark.parametrize("width", [1280, 400])
def test_it_is_silent_alone_and_fits(
    browser: Browser, make_sides: MakeSides, tmp_path: Path, width: int
) -> None:
    libraries = ("alpha", "a-very-long-name-" * 12)
    old = load_side([make_sides(f"old{day}", day=day, libraries=libraries) for day in (1, 2)])
    new = make_sides("new", day=3, libraries=libraries, factor=0.5, crashed=(libraries[1],))
    page = tmp_path / "compare.html"
    page.write_text(render(present(compare(old, load_side([new]), 0.05))), encoding="utf-8")
    browser.open(page, width)
    browser.evaluate("document.querySelectorAll('details').forEach((box) => { box.open = true; })")
    inside = "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
    assert browser.evaluate(inside)
    fields = "[...document.querySelectorAll('.stacks td:not(:empty)')]"
    rights = f"{fields}.map((field) => field.getBoundingClientRect().right)"
    assert max(browser.evaluate(rights)) <= width
    dots = "document.querySelectorAll('svg.history circle').length"
    # Two curves of three sizes, and one of the library whose bw crashed; three sessions each. The
    # answer has the three as a whole again.
    assert browser.evaluate(dots) == 3 * (9 + 5 + 9 + 3)
    assert browser.complaints() == []
    assert browser.requests() == [page.as_uri()]
