# SPDX-License-Identifier: Apache-2.0
"""What a library can do, tried case by case by `nearpeak-mpi probe`, whatever it does on the way.

Many cases go into one job. One that crashes, hangs or is refused ends its job, and the rest is
tried in the next one. What ends badly behind others in its job may do so for what they have done:
it is tried once more as the only case of a job.
"""

import os
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from nearpeak.launching import process
from nearpeak.launching.growing import GrowingLines
from nearpeak.libraries.launch import shell_line
from nearpeak.libraries.library import CommandLine
from nearpeak.terms.logs import FAILED, OWN, WRONG_DATA, crash_words, last_words
from nearpeak.terms.outcomes import GOOD, NOT_TRIED, Status
from nearpeak.terms.sizes import format_sizes
from nearpeak.terms.trials import DATA, OF_SIZES, PLAIN, BadEnd, Outcome, TrialCase
from nearpeak.watch.watched import temporary_folder

LIMIT_SECONDS = 60.0  # without a line from a job: then the case that it is at hangs
SIZES = (8, 64 << 10, 4 << 20)


def words(case: TrialCase, sizes: Sequence[int]) -> list[str]:
    """The options of `nearpeak-mpi probe` for a case alone, on its ranks."""
    return [
        *("--buffers", case.buffers, "--operations", case.operation),
        *(("--allocators", case.allocator) if case.allocator != PLAIN else ()),
        *(("--offsets", str(case.offset)) if case.offset else ()),
        *(("--checks", case.check) if case.check != DATA else ()),
        *(("--sizes", format_sizes(sizes)) if case.check in OF_SIZES else ()),
    ]


def line(case: TrialCase, sizes: Sequence[int]) -> str:
    """The line of a file for its --cases."""
    told = (case.buffers, case.allocator, case.operation, case.offset, case.check)
    return " ".join(map(str, (*told, format_sizes(sizes))))


def cases_text(cases: Iterable[TrialCase], sizes: Callable[[TrialCase], Sequence[int]]) -> str:
    """A file for --cases of `nearpeak-mpi probe`."""
    return "".join(f"{line(case, sizes(case))}\n" for case in cases)


class _Line(msgspec.Struct, tag_field="record", tag="probe"):
    """A line of `nearpeak-mpi probe` (docs/records.md)."""

    buffers: str
    operation: str
    status: Literal["begun"] | Status
    allocator: str = PLAIN
    offset: int = 0
    check: str = DATA
    message: str = ""
    size_bytes: int | None = None
    rank: int | None = None
    byte: int | None = None
    expected: int | None = None
    got: int | None = None
    leaked_host_bytes: float = 0.0
    leaked_device_bytes: float = 0.0

    def case(self, ranks: int) -> TrialCase:
        return TrialCase(
            self.buffers, self.operation, self.allocator, self.offset, self.check, ranks
        )


class Job:
    """One launch for some cases of as many ranks, in their order.

    `sizes` of a case's messages are in bytes; `launch` makes the command line of ranks with these
    words behind `probe`; `tell` is called with every outcome as it is known, whose command repeats
    the case alone, and with the cases of the job that had ended before it.
    """

    def __init__(
        self,
        cases: Sequence[TrialCase],
        sizes: Callable[[TrialCase], Sequence[int]],
        launch: Callable[[list[str]], CommandLine],
        tell: Callable[[Outcome, list[TrialCase]], None],
    ) -> None:
        self._cases = cases
        self._sizes = sizes
        self._launch = launch
        self._tell = tell
        self._begun: _Line | None = None  # and not ended
        self._told: dict[TrialCase, Outcome] = {}  # in order
        self._since = time.monotonic()
        self.bad_end: BadEnd | None = None

    def run(self, limit_seconds: float = LIMIT_SECONDS) -> list[TrialCase]:
        """Runs it to its end; what is left for another job, always less than before."""
        with temporary_folder("nearpeak-probe-") as folder:
            chosen, jsonl, log = (Path(folder) / name for name in ("cases", "jsonl", "log"))
            chosen.write_text(cases_text(self._cases, self._sizes))
            running = self._launch(["--cases", str(chosen), "--jsonl", str(jsonl)])
            lines = GrowingLines(jsonl)
            ended = process.run_tree(
                running.argv,
                env={**os.environ, **running.env},
                log=log,
                limit_seconds=limit_seconds,
                tick=lambda: lines.give(self._take),
            )
            lines.give(self._take)
            left = [case for case in self._cases if case not in self._told]
            if self._begun is None and self._told:
                self.bad_end = self._bad_end(ended, log, limit_seconds)
                return left
            if self._begun is None:
                # It did not come to try anything: neither would it in another job. Without a word
                # of the program's own it is the library that did not start.
                own = ended.end == "not started" or last_words(log).startswith(OWN)
                why = ended.reason or last_words(log)
                if ended.end == "hung":
                    own, (_, why) = False, _end_words(ended, log, limit_seconds)
                for case in left:
                    self._end(
                        Outcome(case=case, status=NOT_TRIED if own else "failed", message=why), []
                    )
                return []
            status, message = _end_words(ended, log, limit_seconds)
            self._end(
                Outcome(
                    case=self._begun.case(self._cases[0].ranks),
                    status=status,
                    message=message,
                    size_bytes=self._begun.size_bytes,
                ),
                self.ended,
            )
            return [case for case in left if case not in self._told]

    @property
    def ended(self) -> list[TrialCase]:
        """The cases whose ends are known, in order."""
        return list(self._told)

    def _bad_end(self, ended: process.Outcome, log: Path, limit_seconds: float) -> BadEnd | None:
        """None where a job that was at no case has ended as it should.

        A refusal ends its job itself; otherwise the exit status says how the cases ended.
        """
        last = list(self._told.values())[-1]
        statuses = {outcome.status for outcome in self._told.values()}
        usual = WRONG_DATA if "wrong data" in statuses else FAILED if statuses != {GOOD} else 0
        if last.status == "refused" or (ended.end == "exited" and ended.exit_status in (0, usual)):
            return None
        status, message = _end_words(ended, log, limit_seconds)
        return BadEnd(status=status, message=message, cases=len(self._told), command=last.command)

    def _take(self, text: bytes) -> None:
        try:
            line = msgspec.json.decode(text, type=_Line)
        except (msgspec.MsgspecError, ValueError):
            return  # of another kind, or of ranks that wrote at once as they crashed
        case = line.case(self._cases[0].ranks)
        if case in self._told:
            return  # by another rank, or of what a refusal has ended
        if line.status == "begun":
            self._begun = line
        else:
            self._begun = None
            told = msgspec.structs.asdict(line)
            for name in msgspec.structs.fields(TrialCase):
                told.pop(name.name, None)
            self._end(Outcome(case=case, **told), self.ended)

    def _end(self, outcome: Outcome, before: list[TrialCase]) -> None:
        """`before`: what the job had tried when this case began."""
        now = time.monotonic()
        case = outcome.case
        self._told[case] = msgspec.structs.replace(
            outcome,
            alone=outcome.status if outcome.bad and not before else None,
            seconds=round(now - self._since, 3),
            command=shell_line(self._launch(words(case, self._sizes(case)))),
        )
        self._tell(self._told[case], before)
        self._since = now


def _end_words(
    ended: process.Outcome, log: Path, limit_seconds: float
) -> tuple[Literal["crashed", "hung"], str]:
    """How a job ended that did not end by itself, and the evidence."""
    if ended.end == "hung":
        return "hung", f"no word for {limit_seconds:.0f} s"
    return "crashed", crash_words(ended.exit_status, log)
