# SPDX-License-Identifier: Apache-2.0
"""What the output of a launch says about its end."""

import re
import signal
from collections.abc import Iterable, Sequence
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

from nearpeak.numbers import printable

OWN = "nearpeak-"  # how what our programs say begins
FAILED, BAD_INPUT, WRONG_DATA = 1, 2, 3  # their exit statuses (docs/programs.md)
SIGNALS = {int(number): number.name for number in signal.Signals}
# With which launchers end the other ranks: they tell nothing of what went wrong.
ENDING_OTHERS = (signal.SIGKILL, signal.SIGTERM)
FAULTS = (
    signal.SIGILL,
    signal.SIGTRAP,
    signal.SIGABRT,
    signal.SIGBUS,
    signal.SIGFPE,
    signal.SIGSEGV,
)
NOTHING_SAID = "it did not say why"
BRIEF = 160  # characters
_BY = "ended by "
# What launchers and their libraries say whatever has ended a rank, and the frames of a stack.
_OF_ANY_END = re.compile(
    r"""=                                                           # MPICH and Intel MPI: a banner
    | YOUR\ APPLICATION\ TERMINATED | This\ typically\ refers | Please\ see\ the\ FAQ
    | (prterun|prte|mpirun|mpiexec|orterun)\S*\ (noticed|detected|has\ exited)        # Open MPI
    | Primary\ job\ +terminated
    | .*\ OSC\ UCX\ component\ priority\ set       # said whenever UCX finds no device of its own
    | \[\S+:\d+\]\ (\[\ ?\d+\]|Signal|Failing\ at)
    | (\[\S+:\d+\]\ )?\*\*\*\ (
        Process\ received|End\ of\ error|reported\ by|on\ |MPI_ERRORS_ARE_FATAL|\ +and\ MPI)
    | (srun|slurmstepd\S*):\ (error:\ )?(                                             # Slurm
        \S+:\ task|Job\ step\ aborted|\*\*\*\ STEP|cluster\ configuration\ lacks)
    | \[(mpiexec|proxy:\S+)@\S+\]\ .*(                        # Hydra's stack below a lost process
        callback\ returned\ error\ status|error\ waiting\ for\ (event|completion)
        |assert\ \(!closed\)\ failed)
    | \#\ (?!NOT\ SOLVED) | \d+\ +\d+\.\d                    # comments and rows of our own tables
    """,
    re.VERBOSE,
)
_WRONG = re.compile(
    r"error|fail|abort|assert|fatal|invalid|illegal|exception|what\(\)|cannot|could not|unable"
    r"|not (found|enough|available|supported|permitted)|no such|no usable|denied|refused|truncated"
    r"|undefined|out of|no components",
    re.IGNORECASE,
)
# Open MPI, whatever keeps it from starting; behind it its launcher, which has lost the rank.
_OF_ANY_START = re.compile(
    r"An error occurred in MPI_Init|It looks like MPI_INIT failed|Local abort before MPI_INIT"
    r"|PMIX_ERR_UNREACH|\[warn\] Epoll "
)
# srun names the node where it could not start a task; the line behind it does not.
_OF_NODE = re.compile(r"srun: error: Task launch for \S+ failed on node ")
# Hydra's mpiexec, when the proxy that it started on a node closes its connection.
_LOST_NODE = re.compile(r"\[mpiexec@\S+\] control_cb .*assert \(!closed\) failed")
LOST_NODE = "mpiexec lost its connection to a node"
_FRAME = re.compile("-{20,}")  # around what Open MPI says


class Crash(NamedTuple):
    """How a launch crashed."""

    signal: str  # "SIGSEGV"; "": the exit status alone is known
    words: str  # what its output says of it


def crash_words(code: int | None, *logs: Path) -> str:
    """How a launch crashed, in a line: `ended by SIGSEGV: ...`, `exit status 1: ...`."""
    found = crash(code, *logs)
    how = f"{_BY}{found.signal}" if found.signal else f"exit status {code}"
    return f"{how}: {found.words}"


def crash(code: int | None, *logs: Path) -> Crash:
    """How a launch crashed, by what its launcher says: the signal, else its exit status.

    A signal that the output names counts before the exit status, which may be that of another
    rank, but for the signals that launchers end the other ranks with. `logs`: its output, whole or
    in parts.
    """
    lines = list(filter(_has_words, _all_lines(logs)))
    named = _named(lines)
    told = next((number for number in named if number not in ENDING_OTHERS), None)
    if told is None:
        # MPICH's launcher ends with the number itself, a shell and most launchers with 128 + it.
        said = {-number for number in SIGNALS} | {number + 128 for number in SIGNALS} | set(named)
        if code is None or code not in said - _aborted(lines):
            return Crash("", last_words(*logs))
        told = abs(code) % 128
    words = last_words(*logs)
    says_why = words.startswith(OWN) or _WRONG.search(words)
    return Crash(SIGNALS[told], words if says_why else named.get(told, words))


def cause(message: str) -> str:
    """What went wrong, of a message of `crash_words`: our program's own words, else the signal; of
    one with which launchers end ranks what the library said, or "". Other messages are their own
    cause.

    Two launches of one fault differ in what their launchers say of it.
    """
    how, _, words = message.partition(": ")
    if words.startswith(OWN):
        return words
    if not how.startswith(_BY):
        return message
    name = how.removeprefix(_BY)
    if name not in [number.name for number in ENDING_OTHERS]:
        return name
    return words if _WRONG.search(words) else ""


def brief(message: str) -> str:
    """A message in one short line: without what steers a terminal, and without what MPI libraries
    say of any abort behind its reason."""
    text = re.sub(r"\x1b\[[0-?]*[ -/]*[@-~]", "", message)
    text = "".join(char if char.isprintable() and char != "\ufffd" else " " for char in text)
    text = re.split(r"on a NULL communicator|MPI_ERRORS_ARE_FATAL|Local abort before", text)[0]
    text = re.sub(r"\*{3}|\[\S+:\d+\]", " ", text)
    words = " ".join(text.split())
    if words.endswith(":"):
        words += f" {NOTHING_SAID}"
    return words if len(words) <= BRIEF else words[: BRIEF - 3].rsplit(" ", 1)[0] + "..."


def without_addresses(message: str) -> str:
    """`buf=0x...`: what differs between any two launches of one fault."""
    return re.sub(r"\b0x[0-9a-fA-F]+", "0x...", message)


def fault(message: str) -> str:
    """A message without its numbers, the same for all that went wrong in one way: ranks, sizes,
    addresses and handles differ."""
    return re.sub(r"\b0x[0-9a-fA-F]+|\d+", "#", message)


def last_words(*logs: Path) -> str:
    """The line of a launch's output that says why it ended.

    The last one of our programs' own; else the last that names a node on which nothing starts, or
    something else wrong (but for what Open MPI says of any start that fails, only where there is no
    other); else the last one. What launchers say of any end does not count.
    """
    words = _told(logs)
    own = [line for line in words if line.startswith(OWN)]
    nodes = [line for line in words if _OF_NODE.match(line)]
    wrong = [line for line in words if _WRONG.search(line)]
    why = [line for line in wrong if not _OF_ANY_START.search(line)]
    lost = [LOST_NODE for line in _all_lines(logs) if _LOST_NODE.match(line)]
    return (own or nodes or why or wrong[:1] or words or lost or [NOTHING_SAID])[-1][:300]


def _aborted(lines: Iterable[str]) -> set[int]:
    """The exit statuses of `Abort(N)`, which MPICH and its kin say: the last byte of N, an error of
    the library, and no signal whatever its value."""
    return {
        int(found[1]) & 0xFF for found in map(re.compile(r"Abort\((-?\d+)\)").match, lines) if found
    }


def _told(logs: Sequence[Path]) -> list[str]:
    """What was said but for what is said of any end. Of a text in a frame the first sentence is a
    line: behind it stands what to do."""
    found: list[str] = []
    framed: list[str] | None = None
    for line in _all_lines(logs):
        if _FRAME.fullmatch(line.lstrip("\ufffd")):  # a null byte may stand before it
            if framed is not None:
                found.append(_first_sentence(framed))
            framed = [] if framed is None else None
        else:
            (found if framed is None else framed).append(line)
    words = filter(_has_words, found + (framed or []))
    return [
        re.sub(r"^(\[\S+:\d+\] )?\*\*\* ", "", line)
        for line in words
        if not _OF_ANY_END.match(line)
    ]


def _first_sentence(lines: Iterable[str]) -> str:
    """The first paragraph, and the one behind it where that ends with a colon, unless that is a
    list of what to try: then the sentences before the colon's."""
    rest = iter(lines)
    words = " ".join(takewhile(bool, rest))
    if not words.endswith(":"):
        return words
    more = [*takewhile(bool, rest)]
    before, sentence, _ = words.rpartition(". ")
    listed = sentence and all(line.startswith("* ") for line in more)
    return f"{before}." if listed else " ".join([words, *more])


def _named(lines: Iterable[str]) -> dict[int, str]:
    """The signals that the output names, each with the line that does so first."""
    found: dict[int, str] = {}
    faults: dict[int, str] = {}
    for line in lines:
        for word in re.findall(r"\bsignal:?\s+(\d+)", line, re.IGNORECASE):
            if int(word) in SIGNALS:
                found.setdefault(int(word), line.lstrip("= ")[:300])
        # MPICH: how the process ended that was first to, by a signal if another is named at all.
        first = re.fullmatch(r"=\s+EXIT CODE:\s+(\d+)", line)
        if first and int(first[1]) % 128 in FAULTS:
            faults[int(first[1]) % 128] = line.lstrip("= ")
    return found | faults if found else {}


def _has_words(line: str) -> bool:
    return any(letter.isalnum() for letter in line)


def _all_lines(logs: Sequence[Path]) -> list[str]:
    """The lines at the end of a launch's output, without what steers a terminal."""
    lines: list[str] = []
    for log in logs:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - 65536))
            lines += file.read().decode(errors="replace").splitlines()
    return [printable(line.expandtabs().strip()) for line in lines]
