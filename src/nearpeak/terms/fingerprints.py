# SPDX-License-Identifier: Apache-2.0
"""In what two fingerprints differ: what was measured on then, and what is there now."""

import re
from collections.abc import Iterator, Mapping
from itertools import zip_longest
from typing import NamedTuple

from nearpeak.numbers import printable

NOTHING = "none"
ENVIRONMENT = "environment"
PROGRAM = "nearpeak-mpi "  # then the name of the library that it is built for
SHOWN = 60  # characters of a value in a message
_DIGEST = re.compile(r"\b([0-9a-f]{8})[0-9a-f]{56}\b")
ByPart = Mapping[str, Mapping[str, str]]  # part -> what it is of -> its value


class Change(NamedTuple):
    """One value that is not the same."""

    part: str  # "machine", "driver", "library", "build", "environment"
    name: str
    before: str
    now: str


def changes(before: ByPart, now: ByPart) -> Iterator[Change]:
    """All of them, in the order in which they stand there."""
    for part in dict.fromkeys([*before, *now]):
        if part == ENVIRONMENT and not (part in before and part in now):
            continue  # of one it is not known
        old, new = before.get(part, {}), now.get(part, {})
        for name in dict.fromkeys([*old, *new]):
            values = old.get(name, NOTHING), new.get(name, NOTHING)
            if values[0] != values[1]:
                yield Change(part, name, *values)


def common(old: ByPart, new: ByPart) -> tuple[ByPart, ByPart]:
    """Both without what is of libraries, or settings of them, that only one of them has: a library
    that a study grows by changes nothing of the others."""
    owners = [
        {_owner(part, name) for part, values in each.items() for name in values}
        for each in (old, new)
    ]
    first, second = (
        {
            part: {name: text for name, text in values.items() if _owner(part, name) in others}
            for part, values in each.items()
        }
        for each, others in ((old, owners[1] | {None}), (new, owners[0] | {None}))
    )
    return first, second


def alike(old: ByPart, new: ByPart) -> bool:
    """Whether what is in both is the same."""
    return not any(changes(*common(old, new)))


def _owner(part: str, name: str) -> str | None:
    """The library, or the library with settings, that a value is of; None: of neither."""
    if part == "build" and name.startswith(PROGRAM):
        return name.removeprefix(PROGRAM)
    return name.rpartition(" ")[0] if part == "library" else None


def shown(old: str, new: str) -> tuple[str, str]:
    """Two values in short and printable: of digests the first digits; of long ones the first line
    that differs, or its end."""
    old, new = (_DIGEST.sub(r"sha256 \1", text) for text in (old, new))
    pairs = zip_longest(old.splitlines(), new.splitlines(), fillvalue=NOTHING)
    first, second = next((pair for pair in pairs if pair[0] != pair[1]), (old, new))
    same = next((at for at, (a, b) in enumerate(zip_longest(first, second)) if a != b), 0)
    start = max(0, same - SHOWN // 2) if max(len(first), len(second)) > SHOWN else 0
    return _cut(first, start), _cut(second, start)


def _cut(text: str, start: int) -> str:
    shown = text[start : start + SHOWN]
    before, after = "..." if start else "", "..." if len(text) > start + SHOWN else ""
    return before + printable(shown) + after
