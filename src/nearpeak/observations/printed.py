# SPDX-License-Identifier: Apache-2.0
"""What a tool printed, without what launchers, terminals and editors put around each line.

All tools' output comes through `read`, so that no source knows of tags, colours or line ends.
"""

import errno
import os
import re
import sys
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
# Colours, also those whose escape character a log has lost, and all else that steers a terminal.
STEERING = re.compile(
    r"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b\[[0-?]*[ -/]*[@-~]|\x1b[ -/]*[0-~]"
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
    r"|\((?:[^()]*, )?(?:rank|pid)=\d+[^()]*\) ?)"
)
# mpiexec -l tags each piece that it gets; Open MPI's -xml encloses it.
WITHIN = re.compile(rf"\[\d+\] ?|\[\d+,\d+\]{STREAM}|</?std(?:out|err|diag)\b[^<>]*>(?!:)|&#010;")


class Printed(NamedTuple):
    """What a tool printed."""

    file: Path
    name: str  # of the file, without its folder
    started: str  # ISO 8601: when it was written
    content: bytes  # as it is, for what is written as JSON
    lines: list[str]  # without tags and margins; the first is line 1
    crash: str  # who says that the program crashed, in words; empty: nobody

    @property
    def is_json(self) -> bool:
        """Whether it can be nothing but JSON."""
        return self.content.lstrip()[:1] == b"{"


def read(place: Path) -> Printed:
    """A file, a pipe, or standard input for `-`; UserError where it cannot be read, has nothing or
    too much in it."""
    try:
        content, started = _content(place)
    except OSError as error:
        raise UserError(f"{place} cannot be read: {error.strerror}") from None
    if not content.strip():
        raise UserError(f"{place} is empty: run the program again, with its output into that file")
    lines = lines_of(content)
    return Printed(
        file=place,
        name=place.name,
        started=started.isoformat(),
        content=content,
        lines=lines,
        crash=find_crash(lines),
    )


def _content(place: Path) -> tuple[bytes, datetime]:
    """All of it, and when it was written: of a pipe, now."""
    now = datetime.now(timezone.utc)
    if place == STANDARD_INPUT:
        if sys.stdin is None:  # closed by whoever started us
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        return _bounded(place, sys.stdin.buffer.read(MOST_BYTES + 1)), now
    if not place.is_file():
        with place.open("rb") as pipe:
            return _bounded(place, pipe.read(MOST_BYTES + 1)), now
    status = place.stat()
    if status.st_size > MOST_BYTES:
        raise _too_long(place)
    return place.read_bytes(), datetime.fromtimestamp(status.st_mtime, timezone.utc)


def _bounded(place: Path, content: bytes) -> bytes:
    if len(content) > MOST_BYTES:
        raise _too_long(place)
    return content


def _too_long(place: Path) -> UserError:
    return UserError(f"{place} has more than 64 MiB: give the output of one program alone")


def lines_of(content: bytes) -> list[str]:
    """As the program printed them, without margins; empty in the place of very long ones."""
    encoding = next(name for mark, name in ENCODINGS if content.startswith(mark))
    lines = LINE_END.split(content.decode(encoding, errors="replace"))
    return [_untagged(line) if len(line) <= LONGEST_LINE else "" for line in lines]


def _untagged(line: str) -> str:
    line = STEERING.sub("", line)
    while tag := TAG.match(line):  # a time before the rank, or a launcher within a launcher
        line = line[tag.end() :]
    return WITHIN.sub(" ", line).strip()
