# SPDX-License-Identifier: Apache-2.0
"""The output of a tool, without the tags and colours that launchers, terminals and editors add.

All output comes through `read`, so that no source knows of tags, colours, margins or line ends.
"""

import errno
import itertools
import os
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import NamedTuple

from nearpeak.errors import UserError
from nearpeak.observations.crashes import find_crash

STANDARD_INPUT = Path("-")
MOST_BYTES = 64 << 20  # of a file: what tools print has some KiB
LONGEST_LINE = 1000  # characters: longer ones are of no table
ENCODINGS = ((b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"), (b"", "utf-8-sig"))
LINE_END = re.compile(r"\r*\n|\r")
QUOTES = ('"', "'")
WHOLE_DOCUMENT = re.compile(r".*\}[^\S\n]*$", re.DOTALL | re.MULTILINE)  # to the last brace
LIST_END = re.compile(r"""(?:\\n)?["'],?$""")  # of a string in a list: JSON, notebooks, Python
WEB_BLANK = "\N{NO-BREAK SPACE}"  # in a blank's place in what was copied from a web page
# Colours, also those whose escape character a log has lost, and all else that steers a terminal.
STEERING = re.compile(
    r"\x1b[]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b\[[0-?]*[ -/]*[@-~]|\x1b[ -/]*[0-~]"
    r"|\[\d{1,3}(?:;\d{1,3})*m|[\x00-\x08\x0b-\x1f\x7f]"
)
DAY = r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)"
MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
CLOCK = r"\d\d:\d\d:\d\d(?:[.,]\d+)?"
TIMES = (
    rf"(?:{DAY},? )?{MONTH} +\d+ {CLOCK}(?: \d{{4}})?",  # ctime, and `ts` of moreutils
    rf"\d{{4}}-\d\d-\d\d[T ]{CLOCK} ?(?:Z|UTC|[+-]\d\d:?\d\d)?",
    CLOCK,
)
TIME = "|".join(TIMES)
# Before a line: `srun -l`, padded; mpiexec -l and -prepend-rank, and with the host's name; Open
# MPI's --tag-output, --timestamp-output and --output tag..., which all end in the stream's name;
# Ray and SkyPilot, `(head, rank=0, pid=38) `.
STREAM = r"<(?:stdout|stderr|stddiag)>: ?"
HOST = r"[A-Za-z_][\w.-]*"
TAG = re.compile(
    rf"\s*(?:(?:{TIME}|\[[^\[\]<>]*\])*{STREAM}"
    rf"|\[(?:{TIME})\]:? ?|(?:{TIME})(?:\s|$)"
    rf"|\[(?:\d+|\d+,\d+|{HOST}[:@]\d+|\d+[:@]{HOST})\]:? ?"
    rf"|{HOST}:\d+: |\d+: ?"
    r"|\((?=[^()]*\))(?:[^()]*, )?(?:rank|pid)=\d+[^()]*\) ?)"
)
# mpiexec -l tags each piece that it gets; Open MPI's -xml encloses it; web pages end it.
WITHIN = re.compile(
    rf"\[\d+\] ?|\[\d+,\d+\]{STREAM}|</?std(?:out|err|diag)\b[^<>]*>(?!:)|&#010;|<br ?/?>"
)
# Where the end of a line was lost between two tags, a figure and the next line's size touch it.
GLUED = re.compile(rf"(\s\d+\.\d\d)(?=(?:(?:{TIME})|\[[^\[\]<>\n]*\])*<stdout>:\d)")


Look = Callable[[str], re.Match[str] | None]  # the method of a pattern, for a line


class Printed(NamedTuple):
    """The output of a tool, in a file."""

    file: Path
    name: str  # of the file, without its folder
    started: str  # ISO 8601: when it was written
    lines: list[str]  # without tags and margins; the first is line 1
    document: str  # an object of JSON among them, whole or not; empty: there is none
    crash: str  # the line that reports a crash, in words; empty: there is none


def read(place: Path) -> Printed:
    """Read a file, a pipe, or standard input for `-`; UserError if it is unreadable, empty, or too
    long."""
    try:
        content, started = _content(place)
    except OSError as error:
        raise UserError(f"{place} cannot be read: {error.strerror}") from None
    if not content.strip():
        raise UserError(f"{place} is empty: run the program again, with its output into that file")
    encoding = next(name for mark, name in ENCODINGS if content.startswith(mark))
    text = content.decode(encoding, errors="replace")
    lines = lines_of(text)
    return Printed(
        file=place,
        name="standard input" if place == STANDARD_INPUT else place.name,
        started=started.isoformat(),
        lines=lines,
        document=_document(text.splitlines()) or _document(lines),
        crash=find_crash(lines),
    )


def _content(place: Path) -> tuple[bytes, datetime]:
    """Everything in it, and when it was written: a pipe is written now."""
    started = datetime.now(timezone.utc)
    if place == STANDARD_INPUT:
        if sys.stdin is None:  # closed by whoever started us
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        content = sys.stdin.buffer.read(MOST_BYTES + 1)
    else:
        with place.open("rb") as file:
            content = file.read(MOST_BYTES + 1)
        if place.is_file():
            started = datetime.fromtimestamp(place.stat().st_mtime, timezone.utc)
    if len(content) > MOST_BYTES:
        raise UserError(f"{place} has more than 64 MiB: give the output of one program alone")
    return content, started


def lines_of(text: str) -> list[str]:
    """Split a text into lines as the program printed them; very long ones become empty."""
    lines = LINE_END.split(GLUED.sub(r"\1\n", text))
    return [_untagged(line) if len(line) <= LONGEST_LINE else "" for line in lines]


def matches(look: Look, lines: Iterable[str]) -> list[re.Match[str]]:
    """Collect the matches of a pattern, in the order of the lines."""
    return [match for match in map(look, lines) if match]


def first_match(look: Look, lines: Iterable[str]) -> re.Match[str] | None:
    """The match in the first line that has one; None without one."""
    return next(filter(None, map(look, lines)), None)


def first_value(look: Look, lines: Iterable[str]) -> str:
    """The first group of the first match; empty without one."""
    match = first_match(look, lines)
    return match[1] if match else ""


def first_number(look: Look, lines: Iterable[str]) -> int | None:
    """The number that is the first group of the first match; None without one."""
    match = first_match(look, lines)
    return int(match[1]) if match else None


def margins(lines: Sequence[str], headings: Sequence[re.Pattern[str]]) -> list[re.Pattern[str]]:
    """Collect what stands before the headings of tables, which every line may have before it.

    A service, a shell on several hosts or somebody who quotes puts the same before each line; a
    list of strings has its marks behind each, too.
    """
    ends = (LIST_END.sub("", line) for line in lines)
    looks = itertools.product(ends, headings)
    seen = filter(None, (heading.search(line) for line, heading in looks))
    before = dict.fromkeys(match.string[: match.start()] for match in seen)
    # A number that stands right before a line might be of the line.
    shapes = (_margin(prefix) for prefix in before if prefix and not prefix[-1].isdigit())
    return list(dict.fromkeys(shapes))


def _margin(before: str) -> re.Pattern[str]:
    """Match a line, as `line`, that has `before` before it, with whatever numbers and blanks."""
    shapes = {"digit": r"\d+", "blank": r"\s+"}
    mark = before.rstrip()
    parts = re.finditer(r"(?P<digit>\d+)|(?P<blank>\s+)|\D", mark)
    shape = "".join(shapes.get(part.lastgroup or "", re.escape(part[0])) for part in parts)
    if mark.endswith(QUOTES):  # blanks behind it are of the line
        return re.compile(f"{shape}(?P<line>.*?){LIST_END.pattern}")
    blank = r"(?:\s|$)" if before != mark else ""
    return re.compile(f"{shape}{blank}(?P<line>.*)")


def without(printed: Printed, before: re.Pattern[str]) -> Printed:
    """Take off a margin where it is; lines without it stay as they are."""
    bare = ((line, before.fullmatch(line)) for line in printed.lines)
    lines = [match["line"].strip() if match else line for line, match in bare]
    return printed._replace(lines=lines, crash=find_crash(lines))


def _document(lines: Sequence[str]) -> str:
    """The lines from the one that opens an object of JSON to the last one that closes any."""
    document = "\n".join(itertools.dropwhile(lambda line: not line.lstrip().startswith("{"), lines))
    closed = WHOLE_DOCUMENT.match(document)
    return closed[0] if closed else document


def _untagged(line: str) -> str:
    line = STEERING.sub("", line).replace(WEB_BLANK, " ")
    while tag := TAG.match(line):  # a time before the rank, or a launcher within a launcher
        line = line[tag.end() :]
    return WITHIN.sub(" ", line).strip()
