# SPDX-License-Identifier: Apache-2.0
"""Finds the reason for the end of a launch in its output."""

import re
import signal
from collections.abc import Iterable, Sequence
from itertools import chain, filterfalse, takewhile
from pathlib import Path
from typing import NamedTuple

from nearpeak.numbers import printable

OWN = "nearpeak-"  # begins each line of our programs
FAILED, BAD_INPUT, WRONG_DATA = 1, 2, 3  # exit statuses of our programs (terms/exit_statuses.py)
SIGNALS = {int(number): number.name for number in signal.Signals}
# Launchers end the other ranks with these: they do not show the fault.
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
# Lines that launchers and their libraries print at any end of a rank, and stack frames.
_OF_ANY_END = re.compile(
    r"""=                                                           # MPICH and Intel MPI: a banner
    | YOUR\ APPLICATION\ TERMINATED | This\ typically\ refers | Please\ see\ the\ FAQ
    | (prterun|prte|mpirun|mpiexec|orterun)\S*\ (noticed|detected|has\ exited)        # Open MPI
    | Primary\ job\ +terminated
    | .*\ OSC\ UCX\ component\ priority\ set       # printed whenever UCX finds no device
    | \[\S+:\d+\]\ (\[\ ?\d+\]|Signal|Failing\ at)
    | (\[\S+:\d+\]\ )?\*\*\*\ (
        Process\ received|End\ of\ error|reported\ by|on\ |MPI_ERRORS_ARE_FATAL|\ +and\ MPI)
    | (srun|slurmstepd\S*):\ (error:\ )?(                                             # Slurm
        \S+:\ task|Job\ step\ aborted|\*\*\*\ STEP|cluster\ configuration\ lacks)
    | \[(mpiexec|proxy:\S+)@\S+\]\ .*(                        # Hydra's stack below a lost process
        callback\ returned\ error\ status|error\ waiting\ for\ (event|completion)
        |assert\ \(!closed\)\ failed)
    | \#\ (?!NOT\ SOLVED) | \d+\ +\d+\.\d                    # comments and rows of our tables
    """,
    re.VERBOSE,
)
_WRONG = re.compile(
    r"error|fail|abort|assert|fatal|invalid|illegal|exception|what\(\)|cannot|could not|unable"
    r"|not (found|enough|available|supported|permitted)|no such|no usable|denied|refused|truncated"
    r"|undefined|out of|no components",
    re.IGNORECASE,
)
# Open MPI, at any failed start; then its launcher, which has lost the rank.
_OF_ANY_START = re.compile(
    r"An error occurred in MPI_Init|It looks like MPI_INIT failed|Local abort before MPI_INIT"
    r"|PMIX_ERR_UNREACH|\[warn\] Epoll "
)
# srun names the node where it could not start a task; its next line does not.
_OF_NODE = re.compile(r"srun: error: Task launch for \S+ failed on node ")
# Hydra's mpiexec, when the proxy that it started on a node closes its connection.
_LOST_NODE = re.compile(r"\[mpiexec@\S+\] control_cb .*assert \(!closed\) failed")
LOST_NODE = "mpiexec lost its connection to a node"
_OF_RANK = re.compile(rf"{OWN}mpi: rank (\d{{1,9}}): (.+)", re.ASCII)
_FRAME = re.compile("-{20,}")  # around messages of Open MPI


class Crash(NamedTuple):
    """The signal of a crashed launch, and the message in its output."""

    signal: str  # "SIGSEGV"; "": only the exit status is known
    words: str  # the line of its output


def crash_words(code: int | None, *logs: Path) -> str:
    """The crash of a launch in one line: `ended by SIGSEGV: ...`, `exit status 1: ...`."""
    crashed = crash(code, *logs)
    end = f"{_BY}{crashed.signal}" if crashed.signal else f"exit status {code}"
    return f"{end}: {crashed.words}"


def crash(code: int | None, *logs: Path) -> Crash:
    """The crash of a launch, by the output of its launcher: the signal, else its exit status.

    A signal that the output names takes precedence over the exit status, which may be that of
    another rank. Signals with which launchers end the other ranks do not count. `logs`: the files
    of its output.
    """
    lines = list(filter(_has_words, _all_lines(logs)))
    named = _named(lines)
    signal_number = next((number for number in named if number not in ENDING_OTHERS), None)
    if signal_number is None:
        # MPICH's launcher exits with the signal number, shells and most launchers with 128 more.
        possible = (
            {-number for number in SIGNALS} | {number + 128 for number in SIGNALS} | set(named)
        )
        if code is None or code not in possible - _aborted(lines):
            return Crash("", last_words(*logs))
        signal_number = abs(code) % 128
    text = last_words(*logs)
    says_why = text.startswith(OWN) or _WRONG.search(text)
    return Crash(SIGNALS[signal_number], text if says_why else named.get(signal_number, text))


def cause(message: str) -> str:
    """The fault in a message of `crash_words`, equal for two launches of one fault.

    The line of our program, else the signal. For a signal with which launchers end ranks, the
    message of the library, or "". Other messages are returned unchanged.
    """
    end, _, text = message.partition(": ")
    if text.startswith(OWN):
        return text
    if not end.startswith(_BY):
        return message
    name = end.removeprefix(_BY)
    if name not in [number.name for number in ENDING_OTHERS]:
        return name
    return text if _WRONG.search(text) else ""


def brief(message: str) -> str:
    """A message in one short line, without terminal control sequences.

    The text that MPI libraries append at any abort is cut off.
    """
    text = re.sub(r"\x1b\[[0-?]*[ -/]*[@-~]", "", message)
    text = "".join(char if char.isprintable() and char != "\ufffd" else " " for char in text)
    text = re.split(r"on a NULL communicator|MPI_ERRORS_ARE_FATAL|Local abort before", text)[0]
    text = re.sub(r"\*{3}|\[\S+:\d+\]", " ", text)
    line = " ".join(text.split())
    if line.endswith(":"):
        line += f" {NOTHING_SAID}"
    return line if len(line) <= BRIEF else line[: BRIEF - 3].rsplit(" ", 1)[0] + "..."


def last_line(output: bytes, otherwise: str) -> str:
    """The last line of a program's output; `otherwise` where it printed nothing."""
    return [otherwise, *output.decode(errors="replace").strip().splitlines()][-1]


def without_addresses(message: str) -> str:
    """Replaces addresses, which differ between launches of one fault: `buf=0x...`."""
    return re.sub(r"\b0x[0-9a-fA-F]+", "0x...", message)


def fault(message: str) -> str:
    """A message without its numbers (ranks, sizes, addresses), equal for all cases of one fault."""
    return re.sub(r"\b0x[0-9a-fA-F]+|\d+", "#", message)


def last_words(*logs: Path) -> str:
    """The line of a launch's output with the reason for its end.

    The last line of our programs; else the last that names a node on which nothing starts; else the
    last error (errors that Open MPI prints at any failed start only if there is no other); else the
    last line. Lines that launchers print at any end do not count.
    """
    lines = _informative_lines(logs)
    ours = [line for line in lines if line.startswith(OWN)]
    nodes = [line for line in lines if _OF_NODE.match(line)]
    wrong = [line for line in lines if _WRONG.search(line)]
    specific = [line for line in wrong if not _OF_ANY_START.search(line)]
    lost = [LOST_NODE for line in _all_lines(logs) if _LOST_NODE.match(line)]
    return (ours or nodes or specific or wrong[:1] or lines or lost or [NOTHING_SAID])[-1][:300]


def words_of_ranks(log: Path) -> dict[int, str]:
    """Returns the last line of each rank that said why it stopped."""
    said: dict[int, str] = {}
    with log.open(encoding="utf-8", errors="replace") as lines:
        for line in lines:
            if match := _OF_RANK.match(line):
                said[int(match[1])] = printable(match[2].strip())
    return said


def _aborted(lines: Iterable[str]) -> set[int]:
    """The exit statuses of `Abort(N)` of MPICH and its derivatives: the last byte of N.

    They are errors of the library, never signals.
    """
    return {
        int(match[1]) & 0xFF for match in map(re.compile(r"Abort\((-?\d+)\)").match, lines) if match
    }


def _informative_lines(logs: Sequence[Path]) -> list[str]:
    """The lines of the output without those that are printed at any end.

    A framed text becomes one line, its first sentence: advice follows it.
    """
    parts: list[list[str]] = [[]]  # between frames: every second one is framed
    for line in _all_lines(logs):
        if _FRAME.fullmatch(line.lstrip("\ufffd")):  # a null byte may precede it
            parts.append([])
        else:
            parts[-1].append(line)
    # The last frame may have no end.
    parts[1:-1:2] = [[_first_sentence(framed)] for framed in parts[1:-1:2]]
    texts = filter(_has_words, chain.from_iterable(parts))
    informative = filterfalse(_OF_ANY_END.match, texts)
    return [re.sub(r"^(\[\S+:\d+\] )?\*\*\* ", "", line) for line in informative]


def _first_sentence(lines: Iterable[str]) -> str:
    """The first paragraph; if it ends with a colon, with the next one.

    If the next one lists things to try, the sentence with the colon is left out, too.
    """
    rest = iter(lines)
    paragraph = " ".join(takewhile(bool, rest))
    if not paragraph.endswith(":"):
        return paragraph
    next_paragraph = [*takewhile(bool, rest)]
    before, sentence, _ = paragraph.rpartition(". ")
    listed = sentence and all(line.startswith("* ") for line in next_paragraph)
    return f"{before}." if listed else " ".join([paragraph, *next_paragraph])


def _named(lines: Iterable[str]) -> dict[int, str]:
    """The signals that the output names, each with the first line that names it."""
    signals: dict[int, str] = {}
    faults: dict[int, str] = {}
    for line in lines:
        for number in map(int, re.findall(r"\bsignal:?\s+(\d+)", line, re.IGNORECASE)):
            signals.setdefault(number, line.lstrip("= ")[:300])
        # MPICH: the exit code of the first process to end; a signal only if another one is named.
        if first := re.fullmatch(r"=\s+EXIT CODE:\s+(\d+)", line):
            faults[int(first[1]) % 128] = line.lstrip("= ")
    signals = {number: line for number, line in signals.items() if number in SIGNALS}
    faults = {number: line for number, line in faults.items() if signals and number in FAULTS}
    return signals | faults


def _has_words(line: str) -> bool:
    return any(letter.isalnum() for letter in line)


def _all_lines(logs: Sequence[Path]) -> list[str]:
    """The last lines of a launch's output, without terminal control characters."""
    lines: list[str] = []
    for log in logs:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - 65536))
            lines += file.read().decode(errors="replace").splitlines()
    return [printable(line.expandtabs().strip()) for line in lines]
