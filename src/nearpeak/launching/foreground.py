# SPDX-License-Identifier: Apache-2.0
"""One launch in the foreground: what it says is passed on as it comes, its figures once it has said
that it runs where it should and with which library."""

import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

import msgspec

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
    """Follows the records of a launch for what they say of where it runs."""

    def __init__(self, file: Path, wanted: Sequence[Wanted]) -> None:
        # Others' records come before.
        self._lines = GrowingLines(file, file.stat().st_size if file.exists() else 0)
        self._wanted = wanted
        self._known = 0
        self.wrong = ""  # why its figures cannot be believed
        self.wrong_data = False

    @property
    def told(self) -> bool:
        """Whether every part of the launch has said where it runs."""
        return self._known >= len(self._wanted)

    def read(self) -> bool:
        """Takes in the whole lines that are new; whether there were any."""
        return self._lines.give(self._take)

    def _take(self, line: bytes) -> None:
        try:
            known = msgspec.json.decode(line, type=_Record)
            self.wrong_data |= (known.record, known.status) == ("problem", "wrong data")
            if known.record != "environment" or self.told:
                return
            record = msgspec.json.decode(line, type=EnvironmentRecord)
            wrong = misplaced(self._wanted[self._known], record)
        except msgspec.MsgspecError as error:
            wrong = f"its records were not understood: {error}"
        self._known += 1
        self.wrong = self.wrong or wrong


class _Stream(GrowingFile):
    """Passes on what a file gets."""

    def __init__(self, file: Path, to: BinaryIO) -> None:
        super().__init__(file)
        self._to = to

    def pass_on(self, data: bytes) -> None:
        """`data`: what is waiting, or the beginning of it."""
        self.take(len(data))
        if data:
            self._to.write(data)
            self._to.flush()


def run_in_foreground(
    line: CommandLine, wanted: Sequence[Wanted], jsonl: Path, limit_seconds: float
) -> int:
    """Runs a launch whose program appends its records to `jsonl`; the exit status that docs/
    programs.md has for how it ended. Where that is 1 or more, a line on stderr says why.

    `wanted`: where each part of its command line is to run, empty where it is none that measures.
    One that runs elsewhere, and one without a record or a row of its table for `limit_seconds`, is
    ended. UserError where MPS does not start.
    """
    places, interrupt = _Places(jsonl, wanted), Interrupt()
    with temporary_folder("nearpeak-run-") as folder:
        out, err = Path(folder) / "out", Path(folder) / "err"
        for file in (out, err):
            file.touch()
        table = _Stream(out, sys.stdout.buffer)
        said = _Stream(err, sys.stderr.buffer)
        grown = 0

        def tick() -> bool:
            nonlocal grown
            rows = table.waiting()  # before the records, which are written before their rows
            more = places.read()
            if places.told and not places.wrong:
                table.pass_on(rows)
            said.pass_on(said.waiting())
            before, grown = grown, out.stat().st_size
            return more or grown > before

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
        if interrupt.signal is not None:  # what a launcher says of being ended is of no use
            by = "" if interrupt.signal == signal.SIGINT else signal.Signals(interrupt.signal).name
            _say("interrupted" + (f" by {by}" if by else ""))
            return 128 + interrupt.signal
        tick()
        if places.wrong or (ended.exit_status == 0 and not places.told):
            return _fail(f"no figure of this launch counts: {places.wrong or NO_PLACE}")
        table.pass_on(table.waiting())  # what a launch says that did not come to measure
        if ended.end == "not started":
            return _fail(ended.reason)
        if ended.end == "hung":
            return _fail(_hung(limit_seconds, err, out))
        if code := ended.exit_status:
            status = _status(code, last_words(out, err), wrong_data=places.wrong_data)
            if status != BAD_INPUT:  # which has its line by the program
                _say(_failure(status, Path(line.argv[0]).name, code, out, err))
            return status
    return 0


def _fail(why: str) -> int:
    _say(why)
    return FAILED


def _say(what: str) -> None:
    print(f"nearpeak: {printable(what)}", file=sys.stderr, flush=True)


def _failure(status: int, launcher: str, code: int, *logs: Path) -> str:
    """How a launch failed, and what its launcher ended with."""
    found = crash(code, *logs)
    ended = f"{launcher} ended with exit status {code}" if code > 0 else launcher
    if status == WRONG_DATA:
        return f"wrong data was received ({ended}): see the table"
    if found.words.startswith(NOT_SOLVED) and not found.signal:
        return f"the problem was not solved ({ended}){found.words.removeprefix(NOT_SOLVED)}"
    how = crash_words(code, *logs) if found.signal else found.words
    return f"the launch failed ({ended}): {how}; see what it said above"


def _status(code: int, words: str, *, wrong_data: bool) -> int:
    """Of a launch that failed. A library may end its ranks with any status: only our programs' own
    words, or their records, tell what one of theirs means."""
    own = words.startswith(OWN)
    if wrong_data or (own and code == WRONG_DATA):
        return WRONG_DATA
    return BAD_INPUT if own and code == BAD_INPUT else FAILED


def _hung(limit_seconds: float, *logs: Path) -> str:
    words = [said for said in map(last_words, logs) if said != NOTHING_SAID]
    last = f"the last that it said: {words[0]}" if words else "it said nothing"
    return (
        f"the launch had no record and no figure for {limit_seconds:g} s, so it was ended; {last} "
        "(--launch-limit gives it longer)"
    )
