# SPDX-License-Identifier: Apache-2.0
"""Compares two fingerprints: that of a study, and the present one."""

import re
from collections.abc import Iterator, Mapping
from itertools import zip_longest
from typing import NamedTuple

from nearpeak.numbers import printable

NOTHING = "none"
PROGRAM = "nearpeak-mpi "  # followed by the name of its library
SHOWN = 60  # characters of a value in a message
_DIGEST = re.compile(r"\b([0-9a-f]{8})[0-9a-f]{56}\b")
ByPart = Mapping[str, Mapping[str, str]]  # part -> name -> value


class Change(NamedTuple):
    """One value that differs."""

    part: str  # "machine", "driver", "library", "build", "environment"
    name: str
    before: str
    now: str


def changes(before: ByPart, now: ByPart) -> Iterator[Change]:
    """The values that differ, in their order."""
    for part in dict.fromkeys([*before, *now]):
        old, new = before.get(part, {}), now.get(part, {})
        for name in dict.fromkeys([*old, *new]):
            values = old.get(name, NOTHING), new.get(name, NOTHING)
            if values[0] != values[1]:
                yield Change(part, name, *values)


def common(old: ByPart, new: ByPart) -> tuple[ByPart, ByPart]:
    """Both without the values of libraries, or their settings, that only one of them has.

    A library that is added to a study changes nothing for the others.
    """
    return _of_owners(old, _owners(new) | {None}), _of_owners(new, _owners(old) | {None})


def _owners(values: ByPart) -> set[str | None]:
    return {owner(part, name) for part, by_name in values.items() for name in by_name}


def _of_owners(values: ByPart, owners: set[str | None]) -> ByPart:
    kept: dict[str, dict[str, str]] = {}
    for part, by_name in values.items():
        kept[part] = {name: text for name, text in by_name.items() if owner(part, name) in owners}
    return kept


def alike(old: ByPart, new: ByPart) -> bool:
    """True if the values that both have are equal."""
    return not any(changes(*common(old, new)))


def owner(part: str, name: str) -> str | None:
    """The library, or library with settings, of a value; None without one."""
    if part == "build" and name.startswith(PROGRAM):
        return name.removeprefix(PROGRAM)
    return name.rpartition(" ")[0] if part == "library" else None


def shown(old: str, new: str) -> tuple[str, str]:
    """Two values, short and printable.

    Digests are cut to their first digits, long values to the first difference.
    """
    old, new = (_DIGEST.sub(r"sha256 \1", text) for text in (old, new))
    pairs = zip_longest(old.splitlines(), new.splitlines(), fillvalue=NOTHING)
    first, second = next((pair for pair in pairs if pair[0] != pair[1]), (old, new))
    same = next(
        (position for position, (a, b) in enumerate(zip_longest(first, second)) if a != b), 0
    )
    start = max(0, same - SHOWN // 2) if max(len(first), len(second)) > SHOWN else 0
    return _cut(first, start), _cut(second, start)


def _cut(text: str, start: int) -> str:
    shown = text[start : start + SHOWN]
    before, after = "..." if start else "", "..." if len(text) > start + SHOWN else ""
    return before + printable(shown) + after
