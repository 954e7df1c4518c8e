# SPDX-License-Identifier: Apache-2.0
"""report.html as text: what is in it, and that names stay text."""

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path

from nearpeak.report.page import render, write_page
from nearpeak.results.model import Cell, Mode, Results


class _Reader(HTMLParser):
    """The page's text, its scripts, and every attribute that could load something."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.text: list[str] = []
        self.scripts: list[tuple[dict[str, str | None], str]] = []
        self.loads: list[str] = []
        self.handlers: list[str] = []
        self.policy = ""
        self._open: list[str] = []
        self._attributes: dict[str, str | None] = {}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._attributes = dict(attrs)
        if tag in {"script", "style"}:
            self._open.append(tag)
        self.loads += [
            value or ""
            for name, value in attrs
            if name in {"src", "href", "srcset", "action", "data"}
        ]
        self.handlers += [name for name, _ in attrs if name.startswith("on")]
        if self._attributes.get("http-equiv") == "Content-Security-Policy":
            self.policy = self._attributes["content"] or ""

    def handle_endtag(self, tag: str) -> None:
        if self._open and self._open[-1] == tag:
            self._open.pop()

    def handle_data(self, data: str) -> None:
        if not self._open:
            self.text.append(data)
        elif self._open[-1] == "script":
            self.scripts.append((self._attributes, data))


def _read(results: Results) -> _Reader:
    reader = _Reader()
    reader.feed(render(results))
    return reader


def _data(reader: _Reader) -> dict[str, list[list[object]]]:
    return json.loads(next(text for attrs, text in reader.scripts if attrs.get("id") == "data"))


def _words(reader: _Reader) -> str:
    return " ".join(" ".join(reader.text).split())


def test_nothing_is_loaded_from_elsewhere(results: Results) -> None:
    reader = _read(results)
    assert {load for load in reader.loads if not load.startswith("#")} == {"data:,"}
    assert "default-src 'none'" in reader.policy
    assert "http" not in reader.policy


def test_only_the_two_scripts_of_the_page_may_run(results: Results) -> None:
    reader = _read(results)
    running = [text for attrs, text in reader.scripts if "type" not in attrs]
    assert len(running) == 2
    for text in running:
        value = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"'sha256-{value}'" in reader.policy
    assert reader.handlers == []


def test_names_from_outside_stay_text(results: Results) -> None:
    page = render(results)
    assert "<script>alert(1)" not in page
    assert "<b>bold</b>" not in page
    assert "\u2028" not in page.split('id="data">')[1].split("</script>")[0]
    words = _words(_read(results))
    assert "<script>alert(1)</script>" in words
    assert "{{ 7 * 7 }}" in words  # a template in a name is not run
    assert "How near to the peak does MPI run on node<1>&co?" in words


def test_the_embedded_data_keeps_the_figures(results: Results) -> None:
    data = _data(_read(results))
    assert len(data["cells"]) == len(results.cells)
    commands = {data["commands"][row[16]] for row in data["cells"]}  # type: ignore[call-overload]
    assert commands == {cell.command for cell in results.cells}
    first, cell = data["cells"][0], results.cells[0]
    assert cell.ci95 is not None
    assert first[3:9] == [
        cell.size_bytes,
        *(float(f"{value:.6g}") for value in (cell.median, *cell.ci95)),
        1,
        6,
    ]


def test_figures_that_are_no_numbers_do_not_break_the_data(plain: Results) -> None:
    plain.cells[0].median = float("nan")
    plain.cells[1].fraction = float("inf")
    data = _data(_read(plain))
    assert data["cells"][0][4] is None


def test_variants_have_charts_of_their_own(results: Results) -> None:
    page = render(results)
    variants = set(re.findall(r'data-path="0" data-variant="(\d+)"', page))
    assert variants == {"0", "1", "2", "3", "4", "5"}
    assert page.index('data-variant="0"') < page.index("Variant: <b>bw (H,H, calls=nonblocking")
    kinds = re.findall(r'data-kind="(\w+)" data-path="0" data-variant="4"', page)
    assert kinds == ["fraction", "small", "large"]
    # Without a ceiling there is no fraction to draw, and the page says so.
    assert 'data-kind="fraction" data-path="2"' not in page
    assert "No ceiling was measured on this path" in page


def test_a_range_is_said_to_be_no_interval(results: Results) -> None:
    words = _words(_read(results))
    assert "192 cells of 1728 have fewer than 6 launches" in words
    assert "range 2.81 to 2.95" in words


def test_everything_that_went_wrong_is_there(results: Results) -> None:
    words = _words(_read(results))
    for part in (
        "This study is not complete",
        "1 cell above the ceiling",
        "a defect of the ceiling, not a merit of the library",
        "2 launches failed",
        "logs/17.txt",
        "nearpeak-native memory --cpus 0",
        "−9.00",
        "drifted",
        "✗ not met",
        "✓ met",
    ):
        assert part in words


def test_every_fraction_says_of_what(plain: Results) -> None:
    words = _words(_read(plain))
    assert "% of ceiling : of the measured ceiling at that same size" in words
    assert "% of theoretical" in words
    assert "Part of the measured ceiling at the same message size" in words


def test_modes_are_told(plain: Results) -> None:
    cell: Cell = plain.cells[0]
    cell.flags = ["bimodal"]
    cell.modes = [
        Mode(median=0.2, share=2 / 3, blocks=[0, 1], conditions={"rank 0 cpus": "0"}),
        Mode(median=0.4, share=1 / 3, blocks=[2], conditions={}),
    ]
    text = _data(_read(plain))["cells"][0][15]
    assert (
        text == "bimodal: 0.200 in 66.7 % of launches (rank 0 cpus=0); 0.400 in 33.3 % of launches"
    )


def test_a_study_of_nothing_still_has_a_page(plain: Results, tmp_path: Path) -> None:
    plain.cells, plain.ceilings, plain.fits, plain.comparisons, plain.drift = [], [], [], [], []
    plain.libraries, plain.checklist = [], []
    page = write_page(plain, tmp_path)
    assert page == tmp_path / "report.html"
    assert "No ceiling was measured." in page.read_text(encoding="utf-8")


def test_tables_have_captions_and_headings_with_scope(results: Results) -> None:
    page = render(results).split("<script")[0]
    assert page.count("<table") == page.count("<caption>")
    assert not re.findall(r"<th(?![^>]*scope=)[ >]", page)
    assert not re.findall(r'<div class="chart"(?![^>]*role="img"[^>]*aria-label=)', page)
