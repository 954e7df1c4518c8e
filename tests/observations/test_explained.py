# SPDX-License-Identifier: Apache-2.0
"""Explanations in the folder of a study."""

import errno
import os
from pathlib import Path
from typing import Any

import msgspec
import pytest

from nearpeak.errors import UserError
from nearpeak.observations.explained import (
    FOLDER,
    Explanation,
    Span,
    keep,
    read_explanations,
    thinned,
)


def test_spans_that_cannot_be_seen_apart_are_one() -> None:
    def span(name: str, begin_us: float, end_us: float) -> Span:
        return Span(kind="call", name=name, begin_us=begin_us, end_us=end_us)

    short = [span("short", at, at + 0.4) for at in range(3)]
    found = thinned([*short, span("long", 3, 9), span("far", 50, 51)], narrowest_us=5)
    assert [(one.name, one.begin_us, one.end_us, one.count) for one in found] == [
        ("long", 0, 9, 4),
        ("far", 50, 51, 1),
    ]


@pytest.mark.parametrize(("wait_us", "seen"), [(1.0, 6), (0.3, 1)])
def test_waits_stay_apart_where_they_can_be_seen(wait_us: float, seen: int) -> None:
    spans = []
    for begin in (0.0, 2.0, 4.0):
        spans.append(Span(kind="call", name="copy", begin_us=begin, end_us=begin + 1))
        spans.append(Span(kind="sync", name="wait", begin_us=begin + 1, end_us=begin + 1 + wait_us))
    assert len(thinned(spans, narrowest_us=6)) == seen


def test_each_is_kept_behind_the_others(by_hand: Any, tmp_path: Path) -> None:
    one, other = by_hand.explained(size=8), by_hand.explained(size=16)
    assert keep(one, tmp_path).name == "001.json"
    assert keep(other, tmp_path).name == "002.json"
    assert read_explanations(tmp_path) == [one, other]


def test_a_copy_that_a_user_made_keeps_none_out(by_hand: Any, tmp_path: Path) -> None:
    first = keep(by_hand.explained(), tmp_path)
    first.with_name("001-before.json").write_bytes(first.read_bytes())
    assert keep(by_hand.explained(), tmp_path).name == "002.json"


@pytest.mark.parametrize("links", [True, False])
def test_two_that_are_kept_at_once_are_both_kept(
    by_hand: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, links: bool
) -> None:
    """The second is kept whole while the first is written; also on a disk without hard links."""
    one, other = by_hand.explained(size=8), by_hand.explained(size=16)
    second: list[Explanation] = [other]
    fsync = os.fsync

    def meanwhile(file: int) -> None:
        fsync(file)
        if second:
            keep(second.pop(), tmp_path)

    def no_link(*_: object, **__: object) -> None:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "fsync", meanwhile)
    if not links:
        monkeypatch.setattr(os, "link", no_link)
    (tmp_path / FOLDER).mkdir()
    assert keep(one, tmp_path).name == "002.json"
    assert read_explanations(tmp_path) == [other, one]
    assert sorted(file.name for file in (tmp_path / FOLDER).iterdir()) == ["001.json", "002.json"]


def test_a_study_without_any(tmp_path: Path) -> None:
    assert read_explanations(tmp_path) == []


@pytest.mark.parametrize(
    "whole", [b"{", b"[]", b"", b'{"nearpeak":"\xff"}', b'{"z":' + 100_000 * b"["]
)
def test_a_damaged_file_is_named(by_hand: Any, tmp_path: Path, whole: bytes) -> None:
    keep(by_hand.explained(), tmp_path).write_bytes(whole)
    with pytest.raises(UserError, match=r"001\.json cannot be read"):
        read_explanations(tmp_path)


def test_one_of_another_version_is_named(by_hand: Any, tmp_path: Path) -> None:
    later = msgspec.structs.replace(by_hand.explained(), schema=2)
    keep(later, tmp_path)
    with pytest.raises(UserError, match="schema 2, this nearpeak reads schema 1"):
        read_explanations(tmp_path)
    assert (tmp_path / FOLDER).is_dir()
