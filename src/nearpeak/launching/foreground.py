# SPDX-License-Identifier: Apache-2.0
"""Runs one launch in the foreground and passes its output on: its figures once it has reported that
it runs where it should and with which library."""

import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

import msgspec

from nearpeak.decoding import UNDECODABLE
from nearpeak.launching.growing import GrowingFile, GrowingLines
from nearpeak.launching.interrupts import Interrupt
from nearpeak.launching.places import NO_PLACE, Wanted, misplaced
from nearpeak.launching.process import run_tree
from nearpeak.launching.program_records import EnvironmentRecord
from nearpeak.libraries.library import CommandLine
from nearpeak.numbers import printable
from nearpeak.terms.logs import (
    BAD_INPUT,
    FAILED,
    NOTHING_SAID,
    OWN,
    WRONG_DATA,
    crash,
    crash_words,
    last_words,
)
from nearpeak.watch.watched import temporary_folder

NOT_SOLVED = "# NOT SOLVED"  # what bench/app/laplace.cpp says


class _Record(msgspec.Struct):
    record: str = ""
    status: str = ""


class _Places:
    """Follows the records of a launch and checks the places that they report."""

    def __init__(self, file: Path, wanted: Sequence[Wanted]) -> None:
        # Records of other launches come before.
        self._lines = GrowingLines(file, file.stat().st_size if file.exists() else 0)
        self._wanted = wanted
        self._checked = 0
        self.wrong = ""  # why its figures cannot be believed
        self.wrong_data = False

    @property
    def confirmed(self) -> bool:
        """True if every part of the launch has reported where it runs."""
        return self._checked >= len(self._wanted)

    def read(self) -> bool:
        """Takes in the new whole lines; True if there were any."""
        return self._lines.give(self._take)

    def _take(self, line: bytes) -> None:
        try:
            header = msgspec.json.decode(line, type=_Record)
            self.wrong_data |= (header.record, header.status) == ("problem", "wrong data")
            if header.record != "environment" or self.confirmed:
                return
            record = msgspec.json.decode(line, type=EnvironmentRecord)
            wrong = misplaced(self._wanted[self._checked], record)
        except UNDECODABLE as error:
            wrong = f"its records were not understood: {error}"
        self._checked += 1
        self.wrong = self.wrong or wrong


class _Stream(GrowingFile):
    """Passes on the content of a growing file."""

    def __init__(self, file: Path, to: BinaryIO) -> None:
        super().__init__(file)
        self._to = to

    def pass_on(self, data: bytes) -> None:
        """Passes on `data`, which is all that is waiting or the beginning of it."""
        self.take(len(data))
        if data:
            self._to.write(data)
            self._to.flush()


def run_in_foreground(
    line: CommandLine, wanted: Sequence[Wanted], jsonl: Path, limit_seconds: float
) -> int:
    """Runs a launch whose program appends its records to `jsonl`. Returns its exit status, as
    terms/exit_statuses.py defines it; if that is 1 or more, a line on stderr gives the reason.

    `wanted`: the places of each part of its command line, empty if it measures nothing. A launch is
    ended if it runs elsewhere, or has neither a record nor a row of its table for `limit_seconds`.
    UserError if MPS does not start.
    """
    places, interrupt = _Places(jsonl, wanted), Interrupt()
    with temporary_folder("nearpeak-run-") as folder:
        out, err = Path(folder) / "out", Path(folder) / "err"
        for file in (out, err):
            file.touch()
        table = _Stream(out, sys.stdout.buffer)
        messages = _Stream(err, sys.stderr.buffer)
        grown = 0

        def tick() -> bool:
            nonlocal grown
            rows = table.waiting()  # before the records, which are written before their rows
            new_records = places.read()
            if places.confirmed and not places.wrong:
                table.pass_on(rows)
            messages.pass_on(messages.waiting())
            before, grown = grown, out.stat().st_size
            return new_records or grown > before

        with interrupt.listening():
            ended = run_tree(
                line.argv,
                env={**os.environ, **line.env},
                log=out,
                errors=err,
                limit_seconds=limit_seconds,
                tick=tick,
                stop=lambda: bool(places.wrong) or interrupt.signal is not None,
            )
        if interrupt.signal is not None:  # a launcher's message about its end is of no use
            by = "" if interrupt.signal == signal.SIGINT else signal.Signals(interrupt.signal).name
            _say("interrupted" + (f" by {by}" if by else ""))
            return 128 + interrupt.signal
        tick()
        if places.wrong or (ended.exit_status == 0 and not places.confirmed):
            return _fail(f"no figure of this launch counts: {places.wrong or NO_PLACE}")
        table.pass_on(table.waiting())  # the output of a launch that did not come to measure
        if ended.end == "not started":
            return _fail(ended.reason)
        if ended.end == "hung":
            return _fail(_hung(limit_seconds, err, out))
        if code := ended.exit_status:
            status = _status(code, last_words(out, err), wrong_data=places.wrong_data)
            if status != BAD_INPUT:  # the program has printed its line
                _say(_failure(status, Path(line.argv[0]).name, code, out, err))
            return status
    return 0


def _fail(reason: str) -> int:
    _say(reason)
    return FAILED


def _say(message: str) -> None:
    print(f"nearpeak: {printable(message)}", file=sys.stderr, flush=True)


def _failure(status: int, launcher: str, code: int, *logs: Path) -> str:
    """Describes how a launch failed, and the exit status of its launcher."""
    evidence = crash(code, *logs)
    ended = f"{launcher} ended with exit status {code}" if code > 0 else launcher
    if status == WRONG_DATA:
        return f"wrong data was received ({ended}): see the table"
    if evidence.words.startswith(NOT_SOLVED) and not evidence.signal:
        return f"the problem was not solved ({ended}){evidence.words.removeprefix(NOT_SOLVED)}"
    reason = crash_words(code, *logs) if evidence.signal else evidence.words
    return f"the launch failed ({ended}): {reason}; see what it said above"


def _status(code: int, last_line: str, *, wrong_data: bool) -> int:
    """Returns the exit status for a launch that failed. A library may end its ranks with any
    status: only our programs' own messages, or their records, tell what one of theirs means."""
    ours = last_line.startswith(OWN)
    if wrong_data or (ours and code == WRONG_DATA):
        return WRONG_DATA
    return BAD_INPUT if ours and code == BAD_INPUT else FAILED


def _hung(limit_seconds: float, *logs: Path) -> str:
    lines = [line for line in map(last_words, logs) if line != NOTHING_SAID]
    last = f"the last that it said: {lines[0]}" if lines else "it said nothing"
    return (
        f"the launch had no record and no figure for {limit_seconds:g} s, so it was ended; {last} "
        "(--launch-limit gives it longer)"
    )
