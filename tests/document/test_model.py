# SPDX-License-Identifier: Apache-2.0
"""Typed values of tables."""

from nearpeak.document.model import Column, Row, Table, Value


def test_every_kind_has_one_way_to_be_written() -> None:
    assert Value(0.31456).text == "0.315"
    assert Value(0.31456, "percent").text == "31.5"
    assert Value(1 << 22, "size").text == "4 MiB"
    assert [Value(count, "count").text for count in (17, 0)] == ["17", "–"]
    assert Value(1e-9, "probability").text == "< 0.001"
    assert Value("ring", "text").text == "ring"
    assert {Value(None, kind).text for kind in ("number", "percent", "size", "count")} == {"–"}


def test_an_interval_and_a_range_are_told_apart() -> None:
    assert Value(0.5, "percent", ci95=(0.4, 0.6), range=(0.3, 0.7)).span == "[40.0, 60.0]"
    assert Value(5.0, range=(4.0, 6.0)).span == "range 4.00 to 6.00"
    assert Value(5.0).span == ""


def test_neighbours_share_what_stands_over_them() -> None:
    columns = [Column("a", "a", over="x"), Column("b", "b", over="x"), Column("c", "c")]
    assert Table("", "", "", columns).spans == [("x", 2), ("", 1)]
    assert Table("", "", "", [Column("a", "a"), Column("b", "b")]).spans == [("", 1), ("", 1)]


def test_a_value_may_stand_over_several_columns() -> None:
    columns = [Column(key, key) for key in "abcd"]
    row = Row("", {"a": Value(1), "b": Value("crashed", "text", columns=2)})
    fields = [(column.key, value and value.text) for column, value in row.fields(columns)]
    assert fields == [("a", "1.00"), ("b", "crashed"), ("d", None)]
