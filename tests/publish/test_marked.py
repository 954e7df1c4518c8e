# SPDX-License-Identifier: Apache-2.0
"""Every text of what is published has a mark, and is treated by it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import msgspec
import pytest

from nearpeak.fields import structs
from nearpeak.publish.copy import PUBLISHED
from nearpeak.publish.marked import changed
from nearpeak.terms.private import (
    Facts,
    FreeText,
    GpuUuid,
    HostName,
    Kept,
    Mark,
    Public,
    Release,
    Variables,
)


def bare(kind: Any) -> Iterator[Any]:
    """Types in a type that may hold texts of any content."""
    if get_origin(kind) not in (Annotated, Literal):
        yield from (kind,) if kind in (str, bytes, Any, object) else ()
        for part in get_args(kind):
            yield from bare(part)


def unmarked(kinds: Any) -> list[str]:
    """Fields with texts whose mark was forgotten."""
    return [
        f"{struct.__name__}.{name}"
        for struct in structs(kinds).values()
        for name, kind in get_type_hints(struct, include_extras=True).items()
        if any(bare(kind))
    ]


def test_every_text_that_is_published_has_a_mark() -> None:
    names = [name for kinds in PUBLISHED for name in structs(kinds)]
    assert {"Machine", "Gpu", "Plan", "LaunchEndRecord", "Explanation", "Rank", "Trial"} < {*names}
    assert [name for kinds in PUBLISHED for name in unmarked(kinds)] == []


class Part(msgspec.Struct):
    plain: str | None
    note: FreeText | None = None


class Forgotten(msgspec.Struct):
    names: dict[Public, str]
    pairs: list[tuple[Public, str]]
    facts: dict[Public, Any]
    marked: list[HostName | None]
    kind: Literal["a"] | None
    parts: tuple[Part, ...]


def test_a_forgotten_mark_is_noticed() -> None:
    fields = ["Forgotten.names", "Forgotten.pairs", "Forgotten.facts", "Part.plain"]
    assert unmarked(Forgotten) == fields


class Whole(msgspec.Struct):
    number: int
    kind: Literal["n17", "b"] | None
    public: Public | None
    axes: dict[Public, Public]
    kept: Kept
    release: Release
    host: HostName | None
    gpus: list[GpuUuid]
    pair: tuple[Public, FreeText]
    facts: list[Facts]
    env: Variables | msgspec.UnsetType
    by_name: dict[FreeText, FreeText]
    folder: Path
    parts: tuple[Part, ...]
    none: HostName | None = None


def test_texts_are_treated_by_their_marks() -> None:
    def named(mark: Mark, text: str, variable: str) -> str:
        return " ".join([mark, variable, text.replace("n17", "host1")]).replace("  ", " ")

    facts = {"rank": 0, "host": "n17", "device": {"name": "n17"}, "cpus": [1]}
    whole = Whole(
        number=1,
        kind="n17",
        public="n17",
        axes={"n17": "n17", "n-17": "n17"},
        kept="n17 id",
        release="n17 1.2.3.4",
        host="n17",
        gpus=["GPU-1"],
        pair=("n17", "to n17"),
        facts=[facts],
        env={"A": "n17"},
        by_name={"host": "n17", "gpu n17": "x"},
        folder=Path("/home/n17"),
        parts=(Part(plain="n17"),),
    )
    assert changed(whole, named) == Whole(
        number=1,
        kind="n17",
        public="n17",
        axes={"n17": "n17", "n-17": "n17"},
        kept="kept host1 id",
        release="release host1 1.2.3.4",
        host="host host1",
        gpus=["gpu GPU-1"],
        pair=("n17", "text to host1"),
        facts=[{**facts, "host": "host host1", "device": {"name": "text host1"}}],
        env={"A": "variables A host1"},
        by_name={"host": "text host1", "text gpu host1": "text x"},
        folder=Path("folder /home/host1"),
        parts=(Part(plain="text host1"),),
    )


@pytest.mark.parametrize("value", [None, 1, 1.5, True, [1.0], {}, {1: 2}, msgspec.UNSET])
def test_what_has_no_text_stays(value: Any) -> None:
    assert changed(value, lambda *_: "changed") == value


def test_texts_of_no_type_are_free() -> None:
    assert changed(["n17", {"a-b": "n17"}], lambda mark, text, _: f"{mark} {text}") == [
        "text n17",
        {"text a-b": "text n17"},
    ]


class Keyed(msgspec.Struct):
    by_host: dict[HostName, int]
    by_word: dict[Public, int]
    unmarked: dict[str, int]


def test_a_key_that_names_a_host_is_replaced_though_it_looks_like_a_field() -> None:
    keyed = Keyed(by_host={"node17": 1}, by_word={"node17": 2}, unmarked={"node17": 3})
    assert changed(keyed, lambda mark, *_: f"a {mark}") == Keyed(
        by_host={"a host": 1}, by_word={"node17": 2}, unmarked={"node17": 3}
    )
