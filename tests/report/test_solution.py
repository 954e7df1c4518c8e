# SPDX-License-Identifier: Apache-2.0
"""The drawing of a solution."""

import json
from pathlib import Path

import pytest

from nearpeak.errors import UserError
from nearpeak.report.solution import draw

GOOD = {"schema": 1, "rows": 4, "columns": 4, "step": 2, "values": [[0.0, 0.5], [0.25, 1.0]]}


def test_a_page_that_needs_nothing_else(tmp_path: Path) -> None:
    file, page = tmp_path / "solution.json", tmp_path / "solution.html"
    file.write_text(json.dumps(GOOD))
    draw(file, page)
    text = page.read_text()
    assert "4 x 4 cells" in text
    assert '"type":"heatmap"' in text
    assert "<script src=" not in text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{}", "is no solution"),
        ("x", "is no solution"),
        (json.dumps({**GOOD, "schema": 2}), "is of schema 2, and this nearpeak reads 1"),
    ],
)
def test_another_file_is_said_to_be_none(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "solution.json"
    file.write_text(text)
    with pytest.raises(UserError, match=message):
        draw(file, tmp_path / "page.html")
