# SPDX-License-Identifier: Apache-2.0
"""Comments become descriptions."""

from typing import Literal

import msgspec
import pytest

from nearpeak import fields
from nearpeak.fields import descriptions, enumerations, structs

Shade = Literal[
    # between
    # black and white
    "grey",
    "black",  # no light
]
Dark = Literal[
    Shade,
    "brown",
]
Light = Literal["white", "yellow"]  # not described, as they share a line


class Base(msgspec.Struct):
    # of the base
    shade: Shade | None


class Point(Base):
    # no description, as a line is between

    x: int  # in metres
    # Above,
    # and
    y: list[int]  # behind
    z: float = 0.0


@pytest.fixture(autouse=True)
def _this_module(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fields, "PACKAGE", __name__.split(".")[0])


def test_comments_above_and_behind_are_the_description() -> None:
    assert descriptions(Point) == {
        "shade": "of the base",
        "x": "in metres",
        "y": "Above, and behind",
    }


def test_values_have_descriptions() -> None:
    known = dict(enumerations(Point).values())
    shades = {"grey": "between black and white", "black": "no light"}
    assert known == {"Shade": shades, "Dark": shades | {"brown": ""}}


def test_structs_are_in_the_order_of_their_use() -> None:
    assert list(structs(dict[str, Point] | list[Base])) == ["Point", "Base"]
