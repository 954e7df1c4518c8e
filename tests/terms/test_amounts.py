# SPDX-License-Identifier: Apache-2.0
"""Figures with their units."""

import pytest

from nearpeak.terms.amounts import parse_amount


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("11GB/s", (11.0, "GB/s")),
        (" 500 MB/s ", (0.5, "GB/s")),
        (".5kB/s", (5e-7, "GB/s")),
        ("2M/s", (2.0, "M/s")),
        ("1.5us", (1.5, "us")),
        ("2ms", (2000.0, "us")),
        ("500ns", (0.5, "us")),
        ("12\N{MICRO SIGN}s", (12.0, "us")),
        ("0.9 ratio", (0.9, "ratio")),
    ],
)
def test_figures_are_in_the_units_of_results(text: str, found: tuple[float, str]) -> None:
    amount, unit = parse_amount(text) or (0.0, "")
    assert (pytest.approx(amount), unit) == found


@pytest.mark.parametrize(
    "text", ["", "11", "GB/s", "11Gb/s", "11 GiB/s", "0us", "-1us", "1e3GB/s", f"{'9' * 400}GB/s"]
)
def test_what_is_no_figure(text: str) -> None:
    assert parse_amount(text) is None
