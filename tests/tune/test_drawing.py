# SPDX-License-Identifier: Apache-2.0
"""Where what settings do is drawn."""

import re
from typing import Any

from made_libraries import made_evidence

from nearpeak.document.page import render
from nearpeak.tune.drawing import before_after, each_value
from nearpeak.tune.present import present
from nearpeak.tune.tuned import Tried, Tuned


def places(kind: str, drawn: str) -> list[float]:
    return [float(x) for x in re.findall(rf'class="{kind}" cx="([0-9.]+)%"', drawn)]


def test_equal_ratios_are_equally_far_whatever_is_better() -> None:
    drawn = before_after(
        [
            made_evidence("a", 100.0, 10.0, ceiling=1.0),
            made_evidence("b", 0.1, 1.0, unit="GB/s", ceiling=10.0),
        ]
    )
    assert len({*places("before", drawn)}) == len({*places("after", drawn)}) == 1
    [line, *_] = re.findall(r'class="one" x1="([0-9.]+)%"', drawn)
    [before], [after] = {*places("before", drawn)}, {*places("after", drawn)}
    assert abs((float(line) - after) - (after - before)) < 0.2  # 1, 10 and 100 %
    assert "a: 1.00 % of the ceiling as it is, 10.0 % tuned" in drawn


def test_what_is_faster_is_further_right() -> None:
    drawn = each_value([Tried(setting="A=1", launches=1, times=[4.0, 0.5])], ["x:8", "y:8"])
    [line, *_] = re.findall(r'class="one" x1="([0-9.]+)%"', drawn)
    [faster], [slower] = places("target t0", drawn), places("target t1", drawn)
    assert abs((faster - float(line)) - 2 * (float(line) - slower)) < 0.3


def test_a_long_name_is_told_whole() -> None:
    """Names of values often differ at their ends alone."""
    names = [f"UCX_{'LONG_' * 20}NAME={end}" for end in ("on", "off")]
    drawn = each_value([Tried(setting=name, launches=1, times=[1.0]) for name in names], ["x:8"])
    assert [f'<div class="label">{name}</div>' in drawn for name in names] == [True, True]


def test_letters_are_as_large_in_a_narrow_window(browser: Any, tuned: Tuned) -> None:
    tuned.tried = [
        Tried(setting=f"UCX_{'LONG_' * 12}NAME={end}", launches=1, times=[2.0, 0.5])
        for end in ("on", "off")
    ]
    for width in (1280, 400):
        browser.show(render(present(tuned, {})), width)
        assert browser.evaluate(
            "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
        )
        sizes = browser.evaluate(
            """[...document.querySelectorAll(".lanes .label, .lanes .tick")]
            .map((node) => parseFloat(getComputedStyle(node).fontSize))"""
        )
        assert min(sizes) >= 11
        marks = browser.evaluate(
            "[...document.querySelectorAll('.lanes .lane')].map((node) => node.clientWidth)"
        )
        assert min(marks) > 0.5 * width
        cut = """[...document.querySelectorAll(".lanes .label")]
            .some((node) => node.scrollWidth > node.clientWidth)"""
        assert not browser.evaluate(cut)
