# SPDX-License-Identifier: Apache-2.0
"""The drawing of a solution."""

import json
from pathlib import Path

import pytest

from nearpeak.errors import UserError
from nearpeak.report.solution import check, draw

GOOD = {"schema": 1, "rows": 4, "columns": 4, "step": 2, "values": [[0.0, 0.5], [0.25, 1.0]]}


def test_a_page_that_needs_nothing_else(tmp_path: Path) -> None:
    file, page = tmp_path / "solution.json", tmp_path / "solution.html"
    file.write_text(json.dumps(GOOD))
    draw(file, page)
    text = page.read_text()
    assert "4 x 4 cells" in text
    assert '{"step":2,"values":[[0.0,0.5],[0.25,1.0]]}' in text
    assert "<script src=" not in text


@pytest.mark.parametrize(
    ("name", "begins"), [("a.png", b"\x89PNG\r\n"), ("a.svg", b"<?xml"), ("a.pdf", b"%PDF")]
)
def test_a_picture_of_the_kind_that_its_name_says(tmp_path: Path, name: str, begins: bytes) -> None:
    file = tmp_path / "solution.json"
    file.write_text(json.dumps(GOOD))
    draw(file, tmp_path / name)
    assert (tmp_path / name).read_bytes().startswith(begins)


def test_a_picture_without_matplotlib_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    check(Path("a.html"))
    with pytest.raises(UserError, match=r"a .png needs matplotlib: .* or write a.html, which"):
        check(Path("a.png"))


def test_a_folder_that_is_not_there_is_bad_input(tmp_path: Path) -> None:
    file = tmp_path / "solution.json"
    file.write_text(json.dumps(GOOD))
    with pytest.raises(UserError, match=r"a.png cannot be written: No such file or directory"):
        draw(file, tmp_path / "none" / "a.png")


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
