# SPDX-License-Identifier: Apache-2.0
"""Structs as columns."""

from typing import Literal

import msgspec

from nearpeak.report.columns import fields, flat
from nearpeak.terms.identity import Case, Place, Who


class Inner(msgspec.Struct):
    value: float
    method: str


class Row(msgspec.Struct):
    who: Who
    place: Place
    case: Case
    kind: Literal["one", "other"]
    ci95: tuple[float, float] | None
    ceiling: Inner | None
    flags: list[str]
    axes_us: dict[str, float]
    medians: list[float]
    other: Who | None = None


def row(ci95: tuple[float, float] | None, ceiling: Inner | None) -> Row:
    case = Case(benchmark="bw", metric="bw", buffers="H,H", axes={"a": "b", "c": "d"}, x=8)
    place = Place(path="here", hosts=2)
    return Row(Who("mpich"), place, case, "one", ci95, ceiling, ["x", "y"], {"z": 1.0}, [1.0])


def test_a_part_stands_behind_its_name_and_an_interval_has_two_columns() -> None:
    assert flat(row((1.0, 2.0), Inner(3.0, "ring"))) == {
        "library": "mpich",
        "settings": "default",
        "path": "here",
        "benchmark": "bw",
        "metric": "bw",
        "buffers": "H,H",
        "axes": "a=b;c=d",
        "size_bytes": 8,
        "kind": "one",
        "ci95_low": 1.0,
        "ci95_high": 2.0,
        "ceiling": 3.0,
        "ceiling_method": "ring",
        "flags": "x;y",
        "axes_us": "z=1.0",
        "other_library": None,
        "other_settings": None,
    }


def test_what_is_not_there_has_its_columns() -> None:
    found = flat(row(None, None))
    assert list(found) == list(fields(Row))
    assert [found[name] for name in ("ci95_low", "ceiling", "ceiling_method")] == [None] * 3
