# SPDX-License-Identifier: Apache-2.0
"""What came of a tuning, on its page."""

import re
from pathlib import Path

import msgspec
from made_libraries import made_evidence

from nearpeak.report.tuned.page import SHOWN, render, write_page
from nearpeak.tune.tuned import Tuned


def test_all_of_it_is_told(tuned: Tuned, tmp_path: Path) -> None:
    files = {"everywhere": [Path("tuned/profile.toml"), Path("tuned/profile.sh")]}
    target = write_page(tuned, files, tmp_path)
    page = target.read_text()
    assert target == tmp_path / "report.html"
    for words in (
        "alpha 5, host-gpu near, buffers H,D (host messages with it: 8 B 0.600 [0.500, 0.700]"
        " times as fast (host-host)): these settings make it faster here, and slower",
        "<code>UCX_TLS=sm,self</code>",
        '<td class="n">5.00 [4.50, 5.50]</td><td>faster</td>',
        '<td class="n">2</td><td class="n">16 KiB</td><td>the library&#39;s own choice</td>',
        "<code>--mpi alpha@tuned/profile.toml</code>",
        "<code>tuned/profile.sh</code>",
        "<h4>Slower with it</h4>",
        "<h4>May stop working with it</h4>\n<ul><li>UCX_TLS: there is no network</li></ul>",
        "Y=9: signal 11",
        "12 values tried in 150 launches, 99 s.",
        'href="study/report.html"',
    ):
        assert words in page, words


def test_outside_text_is_escaped(tuned: Tuned) -> None:
    page = render(msgspec.structs.replace(tuned, host="<i>"), {})
    assert "A=&lt;b&gt;" in page
    assert "A=<b>" not in page
    assert "<i>" not in page
    assert "<script" not in page


def test_the_drawing_has_what_changes_most_and_the_table_all(tuned: Tuned) -> None:
    page = render(tuned, {})
    drawn = re.findall(r'<circle class="target t0"', page)
    assert len(drawn) == SHOWN
    assert page.index("UCX_TLS=sm,self: latency:8 5.00 times as fast") < page.index(
        "Z=0: latency:8"
    )
    assert len(re.findall(r'<th scope="row" class="name">Z=', page)) == 30
    assert "<summary>All 32</summary>" in page


def test_without_what_was_not_measured_there_is_no_drawing(tuned: Tuned) -> None:
    bare = msgspec.structs.replace(tuned, evidence=[], tried=[])
    assert "<svg" not in render(bare, {})
    rates = render(msgspec.structs.replace(bare, evidence=[made_evidence("a", 2.0, 1.0)]), {})
    assert "<svg" not in rates  # it has no ceiling
