# SPDX-License-Identifier: Apache-2.0
"""How figures are written."""

import pytest

from nearpeak import numbers


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"),
        (float("nan"), "–"),
        (float("inf"), "–"),
        (0.0, "0"),
        (0.31456, "0.315"),
        (9.999, "10.0"),
        (10.349, "10.3"),
        (123.4, "123"),
        (999.6, "1000"),
        (12345.6, "12300"),
        (-2.5, "-2.50"),
        (0.00012345, "0.000123"),
        (0.00001234, "1.23e-05"),
        (5.0e9, "5.00e+09"),
    ],
)
def test_three_significant_digits(value: float | None, text: str) -> None:
    assert numbers.number(value) == text


def test_powers_of_ten() -> None:
    written = [numbers.number(10.0**power) for power in range(-4, 4)]
    assert written == ["0.000100", "0.00100", "0.0100", "0.100", "1.00", "10.0", "100", "1000"]


@pytest.mark.parametrize(
    ("size_bytes", "text"),
    [
        (0, "0 B"),
        (1, "1 B"),
        (1023, "1023 B"),
        (3000, "3000 B"),
        (1024, "1 KiB"),
        (1536, "1536 B"),
        (64 << 20, "64 MiB"),
        ((64 << 20) + 1, "67108865 B"),
        (1 << 30, "1 GiB"),
    ],
)
def test_sizes_are_exact(size_bytes: int, text: str) -> None:
    assert numbers.size(size_bytes) == text


def test_a_range_is_never_written_as_an_interval() -> None:
    assert numbers.spread(None, (0.005, 0.025), 100) == "range 0.500 to 2.50"
    assert numbers.spread((1.0, 2.0), (0.5, 2.5)) == "[1.00, 2.00]"
    assert numbers.spread(None, (0.5, 2.5)) == "range 0.500 to 2.50"
    assert numbers.spread(None, (0.5, 0.5)) == "one value"
    assert numbers.spread(None, None) == ""
    # Of one block there is no range: these are two methods of a ceiling.
    assert numbers.spread(None, (0.435, 0.438), blocks=1) == "0.435 to 0.438 (one block)"
    assert numbers.spread(None, (0.435, 0.438), blocks=2) == "range 0.435 to 0.438"
    assert numbers.spread(None, (0.5, 0.5), blocks=1) == "one value"


def test_what_a_figure_rests_on_is_told_with_its_blocks() -> None:
    full = (0.9, 1.2)
    assert numbers.resting((1.0, 1.1), full, "9 blocks", 100) == (
        "95 % interval 100 to 110, 9 blocks"
    )
    assert numbers.resting(None, full, "2 blocks") == "0.900 to 1.20 in 2 blocks"


def test_plurals() -> None:
    found = [numbers.count(n, thing) for thing in ("launch", "path", "library") for n in (1, 2)]
    assert found == ["1 launch", "2 launches", "1 path", "2 paths", "1 library", "2 libraries"]


def test_names_cannot_steer_a_terminal() -> None:
    assert numbers.printable("a\x1b[31mb\nc\u2028d ü") == "a\ufffd[31mb c\ufffdd ü"


def test_p_values_beyond_doubt_are_bounded() -> None:
    assert [numbers.probability(p) for p in (0.0, 1e-9, 0.001, 0.0456, 1.0)] == [
        "< 0.001",
        "< 0.001",
        "0.00100",
        "0.0456",
        "1.00",
    ]


@pytest.mark.parametrize(
    ("names", "words"),
    [([], ""), (["a"], "a"), (["a", "b"], "a and b"), (["a", "b", "c"], "a, b and c")],
)
def test_names_are_listed(names: list[str], words: str) -> None:
    assert numbers.listed(names) == words


def test_ratios_that_differ_by_one_percent_read_alike() -> None:
    assert numbers.alike(1.0, 1.0)
    assert numbers.alike(2.0199, 2.0)
    assert not numbers.alike(1.979, 2.0)
