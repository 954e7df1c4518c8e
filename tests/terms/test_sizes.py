# SPDX-License-Identifier: Apache-2.0
"""Words for sizes and times."""

import pytest

from nearpeak.errors import UserError
from nearpeak.terms.sizes import (
    format_seconds,
    format_sizes,
    parse_bytes,
    parse_seconds,
    parse_sizes,
)


@pytest.mark.parametrize(
    ("text", "size"), [("0", 0), ("64", 64), ("4K", 4096), ("64M", 2**26), ("1g", 2**30)]
)
def test_bytes(text: str, size: int) -> None:
    assert parse_bytes(text) == size


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        ("0:8", [0, 1, 2, 4, 8]),
        ("1K:4K,100", [100, 1024, 2048, 4096]),
        ("3:9", [3, 4, 8]),
        ("8,8,1000", [8, 1000]),
    ],
)
def test_sizes(text: str, sizes: list[int]) -> None:
    assert parse_sizes(text) == sizes


@pytest.mark.parametrize("text", ["", "x", "8,", "4K:1", "-1", "1.5K", "8:"])
def test_what_is_no_size_is_bad_input(text: str) -> None:
    with pytest.raises(UserError):
        parse_sizes(text)


@pytest.mark.parametrize(
    "text", ["0:64M", "0,4,16,64", "8,100,1K:64K", "0:4,100", "0", "3,6,12,24", "1,2", "0:2"]
)
def test_formatted_sizes_are_the_same_sizes(text: str) -> None:
    assert parse_sizes(format_sizes(parse_sizes(text))) == parse_sizes(text)


def test_runs_are_formatted_as_ranges() -> None:
    assert format_sizes(parse_sizes("0:64M")) == "0:64M"
    assert format_sizes([8, 100, 1024, 2048, 4096]) == "8,100,1K:4K"


@pytest.mark.parametrize(
    ("text", "seconds"), [("90s", 90), ("5m", 300), ("1h", 3600), ("1h30m", 5400), ("1.5m", 90)]
)
def test_seconds(text: str, seconds: float) -> None:
    assert parse_seconds(text) == seconds


@pytest.mark.parametrize("text", ["", "5", "m", "0s", "-5m", "5 minutes"])
def test_what_is_no_time_is_bad_input(text: str) -> None:
    with pytest.raises(UserError):
        parse_seconds(text)


def test_times_for_people() -> None:
    assert [format_seconds(seconds) for seconds in (0.44, 12, 59.7, 245, 3720)] == [
        "0.4 s",
        "12 s",
        "1m00s",
        "4m05s",
        "1h02m",
    ]
