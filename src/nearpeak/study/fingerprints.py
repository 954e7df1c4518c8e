# SPDX-License-Identifier: Apache-2.0
"""In what two fingerprints differ: what was measured on then, and what is there now."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

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
