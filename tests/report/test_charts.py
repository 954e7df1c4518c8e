# SPDX-License-Identifier: Apache-2.0
"""The charts of the pages in a real browser: axes, what the pointer does, and saved drawings."""

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from browser import Browser
from nearpeak.report.page import write_page
from nearpeak.report.solution import draw
from nearpeak.results.results import Results

SMALL = "document.querySelector('.chart[data-kind=\"small\"]')"
BOX = "document.querySelector('.hover:not([hidden])')"


def _mouse(browser: Browser, kind: str, x: float, y: float, clicks: int = 1) -> None:
    held: dict[str, Any] = {} if kind == "mouseMoved" else {"button": "left", "clickCount": clicks}
    browser.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **held)


def _inside(browser: Browser, node: str, across: float, down: float) -> tuple[float, float]:
    """A place in a chart, in parts of its width and height."""
    x, y, width, height = browser.evaluate(
        f"""(async () => {{ const node = {node}; node.scrollIntoView({{ block: "center" }});
        await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
        const box = node.getBoundingClientRect();
        return [box.x, box.y, box.width, box.height]; }})()"""
    )
    return x + across * width, y + down * height


def _ticks(browser: Browser, node: str) -> list[str]:
    found: list[str] = browser.evaluate(
        f"[...{node}.querySelectorAll('.ytick')].map((one) => one.textContent)"
    )
    return found


@pytest.mark.parametrize(
    ("call", "texts"),
    [
        ("0, 106, false, 5", ["0", "50", "100"]),
        ("0, 106, false, 5.4", ["0", "20", "40", "60", "80", "100"]),
        ("0, 0.31, false, 4", ["0.0", "0.1", "0.2", "0.3"]),
        ("-1.2, 1.2, false, 5", ["-1.0", "-0.5", "0.0", "0.5", "1.0"]),
        ("-1.1, 2.1, true, 6", ["0.1", "1", "10", "100"]),
        ("-6.1, 9.1, true, 4", ["0.0001", "1", "10000", "100000000"]),
        ("0.9, 1.8, true, 6", ["10", "20", "50"]),  # one power of ten would be no scale
    ],
)
def test_ticks(
    browser: Browser, plain: Results, tmp_path: Path, call: str, texts: list[str]
) -> None:
    browser.open(write_page(plain, tmp_path), 1280)
    assert browser.evaluate(f"Charts.ticks({call}).map(([, text]) => text)") == texts


def test_a_drag_zooms_and_a_double_click_shows_all(
    browser: Browser, plain: Results, tmp_path: Path
) -> None:
    browser.open(write_page(plain, tmp_path), 1280)
    whole = _ticks(browser, SMALL)
    (x, y), (to_x, to_y) = (_inside(browser, SMALL, *at) for at in ((0.4, 0.3), (0.7, 0.6)))
    _mouse(browser, "mouseMoved", x, y)
    _mouse(browser, "mousePressed", x, y)
    _mouse(browser, "mouseMoved", to_x, to_y)
    _mouse(browser, "mouseReleased", to_x, to_y)
    part = _ticks(browser, SMALL)
    assert part != whole
    assert float(part[0]) > 0
    for clicks in (1, 2):
        _mouse(browser, "mousePressed", x, y, clicks)
        _mouse(browser, "mouseReleased", x, y, clicks)
    assert _ticks(browser, SMALL) == whole
    assert browser.complaints() == []


def test_the_box_stays_inside_the_window_and_goes_away(
    browser: Browser, plain: Results, tmp_path: Path
) -> None:
    browser.open(write_page(plain, tmp_path), 400)
    for across in (0.2, 0.95):
        _mouse(browser, "mouseMoved", *_inside(browser, SMALL, across, 0.5))
        left, right = browser.evaluate(
            f"""(() => {{ const box = {BOX}.getBoundingClientRect();
            return [box.left, box.right]; }})()"""
        )
        assert left >= 0
        assert right <= 400
    _mouse(browser, "mouseMoved", 1, 1)
    assert browser.evaluate(f"{BOX} === null")


def test_a_field_of_a_map_is_told(browser: Browser, gpu: Results, tmp_path: Path) -> None:
    browser.open(write_page(gpu, tmp_path), 1280)
    node = "document.querySelector('.chart[data-kind=\"pairs\"]')"
    _mouse(browser, "mouseMoved", *_inside(browser, node, 0.45, 0.1))
    assert "% of the median pair" in browser.evaluate(f"{BOX}.textContent")


@pytest.mark.parametrize("kind", ["small", "pairs"])
def test_a_saved_drawing_is_whole(
    browser: Browser, gpu: Results, tmp_path: Path, kind: str
) -> None:
    browser.open(write_page(gpu, tmp_path), 1280)
    text = browser.evaluate(
        f"""(async () => {{ let saved = null;
        const make = URL.createObjectURL;
        URL.createObjectURL = (blob) => {{ saved = blob; return make.call(URL, blob); }};
        const figure = document.querySelector('.chart[data-kind="{kind}"]').closest("figure");
        figure.querySelector("button.save").click();
        return saved.text(); }})()"""
    )
    root = ElementTree.fromstring(text)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert "var(" not in text  # its colours are its own
    assert text.count("<text") >= 4
    assert "pointer-events" not in text
    assert browser.complaints() == []


@pytest.mark.parametrize(("side", "shape"), [(4, "rect"), (100, "image")])
def test_a_solution_is_a_map(browser: Browser, tmp_path: Path, side: int, shape: str) -> None:
    values = [[row * column / side for column in range(side)] for row in range(side)]
    file, page = tmp_path / "solution.json", tmp_path / "solution.html"
    file.write_text(
        json.dumps(
            {"schema": 1, "rows": 2 * side, "columns": 2 * side, "step": 2, "values": values}
        )
    )
    draw(file, page)
    browser.open(page, 900)
    fields = f"document.querySelectorAll('{shape}.fields, .fields {shape}').length"
    assert browser.evaluate(fields) == (side * side if shape == "rect" else 1)
    _mouse(
        browser, "mouseMoved", *_inside(browser, "document.querySelector('.fields')", 0.99, 0.99)
    )
    last = 2 * (side - 1)
    told = browser.evaluate(f"{BOX}.textContent")
    assert told.startswith(f"row {last}, column {last}: ")
    assert browser.complaints() == []
    assert [request for request in browser.requests() if not request.startswith("data:")] == [
        page.as_uri()
    ]
