# SPDX-License-Identifier: Apache-2.0
"""What a source of imported observations is: a tool whose output is read."""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from nearpeak.observations.observed import Observations
from nearpeak.observations.printed import Printed


class Title(NamedTuple):
    """Where the output of one run of a program begins."""

    line: int
    program: str  # as people call it: "osu_bw"


class Tool(NamedTuple):
    """One kind of programs, and how their output is read."""

    name: str  # for people, in errors: "nccl-tests"
    titles: Callable[[Printed], list[Title]]  # of all its runs in a file; never an error
    # The text has one run of it; UserError where that cannot be read.
    load: Callable[[Printed], Observations]
    several: bool = False  # it reads several runs in one file, too
    # Of a table without its title: how its heading begins, and which line to add above it.
    heading: str = ""
    title: str = ""


def titles_where(
    lines: Sequence[str], program: Callable[[str], str | None], *, first: int = 1
) -> list[Title]:
    """A title for each line of which `program` says what it is the title of."""
    found = ((number, program(line)) for number, line in enumerate(lines, first))
    return [Title(number, name) for number, name in found if name is not None]


def in_words(titles: Iterable[Title]) -> str:
    """Each with its line."""
    return " and ".join(f"{title.program} in line {title.line}" for title in titles)
