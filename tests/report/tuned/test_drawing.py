# SPDX-License-Identifier: Apache-2.0
"""Where what settings do is drawn."""

import re

from made_libraries import made_evidence

from nearpeak.report.tuned.drawing import before_after, each_value
from nearpeak.tune.tuned import Tried


def places(kind: str, drawn: str) -> list[float]:
    return [float(x) for x in re.findall(rf'class="{kind}" cx="([0-9.]+)"', drawn)]


def test_equal_ratios_are_equally_far_whatever_is_better() -> None:
    drawn = before_after(
        [
            made_evidence("a", 100.0, 10.0, ceiling=1.0),
            made_evidence("b", 0.1, 1.0, unit="GB/s", ceiling=10.0),
        ]
    )
    assert len({*places("before", drawn)}) == len({*places("after", drawn)}) == 1
    [line] = re.findall(r'class="one" x1="([0-9.]+)"', drawn)
    [before], [after] = {*places("before", drawn)}, {*places("after", drawn)}
    assert abs((float(line) - after) - (after - before)) < 0.2  # 1, 10 and 100 %
    assert "a: 1.00 % of the ceiling as it is, 10.0 % tuned" in drawn


def test_what_is_faster_is_further_right() -> None:
    drawn = each_value([Tried(setting="A=1", launches=1, times=[4.0, 0.5])], ["x:8", "y:8"])
    [line] = re.findall(r'class="one" x1="([0-9.]+)"', drawn)
    [faster], [slower] = places("target t0", drawn), places("target t1", drawn)
    assert abs((faster - float(line)) - 2 * (float(line) - slower)) < 0.3


def test_a_long_name_is_cut_and_told_whole() -> None:
    name = "UCX_LONG=" + "x" * 80
    drawn = each_value([Tried(setting=name, launches=1, times=[1.0])], ["x:8"])
    assert f"<title>{name}</title>UCX_LONG=xxx" in drawn
    assert "…</text>" in drawn
