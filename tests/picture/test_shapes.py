# SPDX-License-Identifier: Apache-2.0
"""Texts that fit."""

import pytest

from nearpeak.picture.shapes import first_fit, glued, joined, shortened, text_width, wrapped


def test_the_first_text_that_fits() -> None:
    room = text_width("NVLink")
    assert first_fit(("NVLink 478 GB/s", "NVLink", "x"), room) == "NVLink"
    assert first_fit(("NVLink 478 GB/s",), room) == ""


def test_what_does_not_fit_is_cut_off() -> None:
    assert shortened("NVLink", 1000) == "NVLink"
    short = shortened("NVLink 478 GB/s", 50)
    assert short.endswith("…")
    assert text_width(short) <= 50


def test_lines_break_at_plain_spaces() -> None:
    lines = wrapped(f"Socket 0: 64 cores, {glued('252 GiB')}", text_width("Socket 0: 64 cores,"))
    assert lines == ["Socket 0: 64 cores,", "252\N{NO-BREAK SPACE}GiB"]


@pytest.mark.parametrize(
    ("numbers", "words"),
    [([0], "0"), ([0, 1], "0 and 1"), ([0, 1, 2], "0 to 2"), ([0, 2, 5], "0, 2, 5")],
)
def test_indices_in_words(numbers: list[int], words: str) -> None:
    assert joined(numbers) == words


def test_bold_is_wider() -> None:
    assert text_width("GPU 0", strong=True) > text_width("GPU 0")
