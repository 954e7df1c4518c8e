# SPDX-License-Identifier: Apache-2.0
"""Runs a plan, launch by launch, into a study folder; picks up where an earlier run stopped."""

import contextlib
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol

import msgspec

import nearpeak
from nearpeak.clock import utc_now
from nearpeak.decoding import UNDECODABLE
from nearpeak.files import disk_is_full, make_anew, make_inside, sync
from nearpeak.launching import mps
from nearpeak.launching.command_lines import Tools, with_token
from nearpeak.launching.growing import GrowingLines
from nearpeak.launching.interrupts import Interrupt
from nearpeak.launching.places import NO_PLACE
from nearpeak.launching.process import Outcome, run_tree
from nearpeak.launching.program_records import EnvironmentRecord, ProgramRecord
from nearpeak.libraries.launch import shell_line
from nearpeak.libraries.library import CommandLine
from nearpeak.machine.states import StateReader
from nearpeak.numbers import printable
from nearpeak.planning.commands import make_command
from nearpeak.planning.fit import OVERTIME, blocks_wanted, rounded
from nearpeak.planning.plan import PILOT_BLOCKS, Plan, PlannedLaunch
from nearpeak.study.forecast import Forecast, imprecise
from nearpeak.study.history import History
from nearpeak.study.journal import StudyJournal, cannot_write
from nearpeak.study.launched import Launched
from nearpeak.study.recording import Recording
from nearpeak.study.records import (
    SCHEMA,
    AmendmentRecord,
    LaunchEndRecord,
    LeftOutRecord,
    Record,
    SessionRecord,
    StudyEndRecord,
    StudyRecord,
)
from nearpeak.study.schedule import GIVE_UP_AFTER
from nearpeak.study.seal import file_digests
from nearpeak.study.sessions import launch_state
from nearpeak.study.spares import to_leave_out
from nearpeak.study.templates import launch_record
from nearpeak.terms.logs import BAD_INPUT, FAILED, WRONG_DATA, crash_words, last_words
from nearpeak.terms.outcomes import Ending

_REFUSALS = (FAILED, BAD_INPUT, 126, 127)  # the last: could not be executed, not found


class Progress(Protocol):
    """Shows how the study goes. Times in seconds."""

    def begin(self, planned: PlannedLaunch, left: float, /) -> None:
        """A launch begins; `left`: for it and all that follow, at most what budget and job have."""

    def tick(self) -> None:
        """Called a few times a second."""

    def end(self, planned: PlannedLaunch, record: LaunchEndRecord) -> None:
        """A launch is over."""

    def leave_out(self, label: str, /) -> None:
        """From here on something is not measured any more, for want of time."""


class StudyRun:
    """One study being run in its folder, with everything that was recorded there before."""

    def __init__(
        self,
        folder: Path,
        plan: Plan,
        journal: StudyJournal,
        tools: Tools,
        progress: Progress,
        session: SessionRecord,
        history: History,
        amendment: AmendmentRecord | None = None,
        seconds: float | None = None,
    ) -> None:
        """`seconds`: how long it may run at most, whatever its budget; None: for ever."""
        self._folder = folder
        self._plan = plan
        self._journal = journal
        self._tools = tools
        self._progress = progress
        self._session = session
        self._amendment = amendment
        self._states = StateReader()
        self._interrupt = Interrupt()
        self.signal: int | None = None  # that cut it short, once it is over
        self._state = history.state
        self._recording: Recording = history
        self._new = history.empty
        self._started = time.monotonic()
        self._before = self._state.seconds
        self._deadline = None if seconds is None else self._started + seconds

    def forecast(self) -> Forecast | None:
        """Returns the precision so far, and after more time; None where none is needed."""
        return self._state.forecast()

    def run(self) -> StudyEndRecord:
        """Runs what remains and returns how the study ended, as it was recorded.

        CannotWriteError when the folder takes no more data; then nothing is running any more.
        """
        self._make_logs()
        if self._new:
            self._record(
                StudyRecord(
                    schema=SCHEMA,
                    id=self._plan.study,
                    nearpeak=nearpeak.__version__,
                    started=self._session.started,
                    seed=self._plan.seed,
                    files=file_digests(self._folder),
                )
            )
        self._record(self._session, sync=True)
        if self._amendment:
            self._record(self._amendment, sync=True)
        with self._interrupt.listening(), contextlib.closing(self._states):
            end = self._run_blocks()
        self._record(end, sync=True)
        return end

    def _run_blocks(self) -> StudyEndRecord:
        looks = self._state.looks
        last = looks[-1]
        for block in range(last):
            if self._state.contenders_done(block):
                return self._ending(
                    f"every cell was precise or given up when judged after {block} blocks"
                )
            if not self._state.remaining(block):
                continue
            self._leave_out(block)
            if not self._fits(block):
                return self._ending(f"the budget is spent after {block} blocks")
            if not self._in_time(block):
                message = f"the job has no time left for another block after {block}"
                return StudyEndRecord(status="interrupted", message=message)
            for planned in self._state.remaining(block):
                if planned not in self._state.remaining(block):
                    continue
                if not self._interrupt.job_is_over():
                    self._run_launch(planned)
                self.signal = self._interrupt.signal
                if self.signal is not None or self._interrupt.job_ended:
                    return StudyEndRecord(status="interrupted", message=self._interrupt.reason())
        if len(looks) == 1:  # a fixed number of blocks
            return StudyEndRecord(status="complete", message=f"all {last} blocks were run")
        return self._ending(f"all {last} blocks were run")

    def _ending(self, reason: str) -> StudyEndRecord:
        """Returns the end of a study that ran as far as it was to run, which may leave cells
        imprecise."""
        lacking = imprecise([cell.precise() for cell in self._state.cells()])
        if lacking:
            return StudyEndRecord(status="imprecise", message=f"{reason}; {lacking}")
        return StudyEndRecord(status="complete", message=reason)

    def _leave_out(self, block: int) -> None:
        """Leaves out what the budget does not hold enough launches of. Nothing is left out after
        the pilot: most of its launches would have been in vain. Before its end, the guess for one
        block must be well beyond the budget. For a block that was begun, the earlier decision
        holds."""
        # The plan is fitted to no more than the job has in which the study begins.
        budget = self._plan.fitted_seconds if self._new else self._state.budget_seconds
        blocks = blocks_wanted(self._plan)
        first = max(1, self._state.begun_blocks)
        if self._state.amended or budget is None or not first <= block <= PILOT_BLOCKS:
            return
        spent = self._spent()
        most = budget * (OVERTIME if block < PILOT_BLOCKS else 1.0) - spent
        for number, seconds in to_leave_out(self._state, block, blocks, most).items():
            kept_with = rounded(spent + seconds)
            self._progress.leave_out(self._plan.left_out_later(number, kept_with, block).label)
            self._record(LeftOutRecord(block=block, spare=number, budget_seconds=kept_with))

    def _fits(self, block: int) -> bool:
        """True if the budget still holds what is left of this block."""
        return self._state.may_run(
            block, self._spent() + self._state.seconds_left(block, block + 1)
        )

    def _in_time(self, block: int) -> bool:
        """True if what is left of this block ends before the deadline."""
        if self._deadline is None:
            return True
        return time.monotonic() + self._state.seconds_left(block, block + 1) <= self._deadline

    def _spent(self) -> float:
        """Returns the seconds of this run, and of the launches of earlier runs."""
        return self._before + time.monotonic() - self._started

    def _time_left(self, block: int) -> float:
        """Returns the seconds to the end of the budget; without one, to the next look. Never beyond
        the end of the job, nor beyond the budget, though blocks that are run in any case may take
        longer."""
        if self._state.budget_seconds is not None:
            left = self._state.budget_seconds - self._spent()
        else:
            look = min(look for look in self._state.looks if look > block)
            left = self._state.seconds_left(block, look)
        if self._deadline is not None:
            left = min(left, self._deadline - time.monotonic())
        return max(left, 0.0)

    def _run_launch(self, planned: PlannedLaunch) -> None:
        number = self._state.next_launch
        log = Path("logs") / f"{number:04d}.log"
        jsonl = (self._folder / log).with_suffix(".jsonl").resolve()
        self._progress.begin(planned, self._time_left(planned.block))
        plain = make_command(self._plan, planned, self._tools)
        session = self._session.session
        begin = launch_record(self._plan, planned, number, shell_line(plain), utc_now(), session)
        begin.state = launch_state(self._states, self._plan, planned, begins=True)
        self._record(begin)
        launch = self._recording.launches[-1]
        command = make_command(self._plan, planned, self._tools, jsonl)
        reader = _Reader(self._recording, self._journal, jsonl)
        # Leftovers of an earlier try must not be mistaken for this one's.
        with self._writing():
            jsonl.unlink(missing_ok=True)
            make_anew(self._folder / log)
        outcome = self._start(planned, command, self._folder / log, reader)
        reader.finish()
        if outcome.exit_status and self._interrupt.has_come():
            outcome = replace(outcome, end="stopped")
        status, message = _judge(outcome, launch, reader.rejected, self._folder / log, self._plan)
        if status not in ("ok", "interrupted") and disk_is_full(self._folder):
            raise cannot_write(self._folder, None)
        failures = self._state.failures_with(launch, status)
        gives_up = failures == GIVE_UP_AFTER and status != "interrupted"
        end = LaunchEndRecord(
            launch=number,
            status=status,
            exit_status=outcome.exit_status,
            seconds=round(outcome.seconds, 3),
            message=printable(message),
            given_up_after=failures if gives_up else 0,
            log=str(log),
            state=launch_state(self._states, self._plan, planned, begins=False),
        )
        kept = [self._folder / log, *([jsonl] if reader.rejected else ())]
        with self._writing():  # the evidence of the record comes onto the disk before it
            for file in [*kept, jsonl.parent]:
                sync(file)
        self._record(end, sync=True)
        if not reader.rejected:
            jsonl.unlink(missing_ok=True)  # records.jsonl has every line of it
        self._progress.end(planned, end)

    def _start(
        self, planned: PlannedLaunch, command: CommandLine, log: Path, reader: "_Reader"
    ) -> Outcome:
        """Runs a launch to its end, under a daemon of MPS where its path has one."""
        path = self._plan.find_path(planned.path)
        try:
            with mps.daemon() if path.mps else contextlib.nullcontext():
                return run_tree(
                    command.argv,
                    env={**os.environ, **with_token(command.env)},
                    log=log,
                    limit_seconds=self._plan.launch_limit_seconds,
                    tick=lambda: self._tick(reader),
                    stop=lambda: self._interrupt.signal is not None,
                )
        except (mps.MpsError, OSError) as error:
            return Outcome("not started", None, 0.0, str(error))

    def _tick(self, reader: "_Reader") -> bool:
        before = reader.taken
        reader.read()
        self._progress.tick()
        return reader.taken > before

    def _record(self, record: Record, *, sync: bool = False) -> None:
        self._recording.take(record)
        self._journal.append(record, sync=sync)

    def _make_logs(self) -> None:
        with self._writing():
            make_inside(self._folder / "logs")

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise cannot_write(self._folder, error) from None


class _Reader:
    """Follows the records of one launch as its program writes them; takes in the valid ones."""

    def __init__(self, recording: Recording, journal: StudyJournal, file: Path) -> None:
        self._recording = recording
        self._journal = journal
        self._launch = recording.launches[-1]
        self._lines = GrowingLines(file)
        self._decode = msgspec.json.Decoder(ProgramRecord).decode
        self.rejected: list[str] = []
        self.taken = 0  # records

    def read(self) -> None:
        """Takes in the lines that are new."""
        for line in self._lines.read():
            self._take(line)

    def finish(self) -> None:
        """Takes in the rest, once the program has ended."""
        self.read()
        if half := self._lines.waiting():
            self._take(half)

    def _take(self, line: bytes) -> None:
        try:
            record = self._decode(line)
            record.launch = self._launch.begin.launch
            if self._launch.misplaced and not isinstance(record, EnvironmentRecord):
                raise ValueError(self._launch.misplaced)
            self._recording.take(record)
        except UNDECODABLE as error:
            self.rejected.append(str(error))
            return
        self.taken += 1
        self._journal.append(record)


def _judge(
    outcome: Outcome, launch: Launched, rejected: Sequence[str], log: Path, plan: Plan
) -> tuple[Ending, str]:
    """Returns the status of a launch that is over, and its message. `rejected`: the reasons for
    which records were not taken in."""
    if outcome.end == "not started":
        return "failed", outcome.reason
    if outcome.end == "stopped":
        return "interrupted", "ended with the study"
    if launch.misplaced not in ("", NO_PLACE):
        return "failed", launch.misplaced
    if outcome.end == "hung":
        return "hung", f"no word for {plan.launch_limit_seconds:.0f} s, so it was ended"
    code = outcome.exit_status
    if launch.wrong:
        wrong = launch.wrong[0]
        return "wrong data", f"{wrong.benchmark} {wrong.size_bytes} bytes: {wrong.message}"
    if code == WRONG_DATA and rejected:
        return "wrong data", last_words(log)
    if code in _REFUSALS and not launch.samples:
        return "failed", last_words(log)
    if code != 0:
        return "crashed", crash_words(code, log)
    if rejected:
        return "failed", f"{len(rejected)} of its records were not understood: {rejected[0]}"
    if not launch.samples:
        return "failed", f"it ended well but measured nothing: {last_words(log)}"
    if lacking := launch.lacking():
        return "failed", lacking
    return "ok", ""
