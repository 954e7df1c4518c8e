# SPDX-License-Identifier: Apache-2.0
"""A tool whose output is read, as a source of observations."""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from nearpeak.observations.observed import Observations
from nearpeak.observations.printed import Look, Printed


class Title(NamedTuple):
    """The line where the output of one run of a program begins."""

    line: int
    program: str  # as people call it: "osu_bw"


class Tool(NamedTuple):
    """A suite of programs, and how their output is read."""

    name: str  # for people, in errors: "nccl-tests"
    titles: Callable[[Printed], list[Title]]  # of all its runs in a file; never an error
    load: Callable[[Printed], Observations]  # of a file with one run; UserError if it is unreadable
    heading: re.Pattern[str]  # of its tables, which may stand without a title
    several: bool = False  # `load` takes several runs in one file
    title: str = ""  # an example, to be added above such a table


def titles_where(
    lines: Sequence[str], look: Look, program: Callable[[re.Match[str]], str]
) -> list[Title]:
    """Collect the lines in which `look` sees a title, of which `program` names the program."""
    matches = ((number, look(line)) for number, line in enumerate(lines, 1))
    return [Title(number, program(match)) for number, match in matches if match]


def in_words(titles: Iterable[Title]) -> str:
    """Name the programs, each with its line."""
    return " and ".join(f"{title.program} in line {title.line}" for title in titles)
