# SPDX-License-Identifier: Apache-2.0
"""In what two fingerprints differ: what was measured on then, and what is there now."""

import re
from collections.abc import Iterator, Mapping
from itertools import zip_longest
from typing import NamedTuple

from nearpeak.numbers import printable

NOTHING = "none"
PROGRAM = "nearpeak-mpi "  # then the name of the library that it is built for
Fingerprint = Mapping[str, Mapping[str, str]]  # part -> what it is of -> its value


class Change(NamedTuple):
    """One value that is not the same."""

    part: str  # "machine", "driver", "library", "build"
    name: str
    before: str
    now: str


def changes(before: Fingerprint, now: Fingerprint) -> Iterator[Change]:
    """All of them, in the order in which they stand there."""
    for part in dict.fromkeys([*before, *now]):
        old, new = before.get(part, {}), now.get(part, {})
        for name in dict.fromkeys([*old, *new]):
            values = old.get(name, NOTHING), new.get(name, NOTHING)
            if values[0] != values[1]:
                yield Change(part, name, *values)


SHOWN = 60  # characters of a value in a message


_DIGEST = re.compile(r"\b([0-9a-f]{8})[0-9a-f]{56}\b")


def shown(old: str, new: str) -> tuple[str, str]:
    """Two values in short and printable: of digests the first digits; of long ones the first line
    that differs, or its end."""
    old, new = (_DIGEST.sub(r"sha256 \1", text) for text in (old, new))
    pairs = zip_longest(old.splitlines(), new.splitlines(), fillvalue=NOTHING)
    one, other = next((pair for pair in pairs if pair[0] != pair[1]), (old, new))
    same = next(
        (at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b),
        min(len(one), len(other)),
    )
    start = max(0, same - SHOWN // 2) if max(len(one), len(other)) > SHOWN else 0
    return _cut(one, start), _cut(other, start)


def _cut(text: str, start: int) -> str:
    shown = text[start : start + SHOWN]
    before, after = "..." if start else "", "..." if len(text) > start + SHOWN else ""
    return before + printable(shown) + after
