# SPDX-License-Identifier: Apache-2.0
"""Tries the operations of a library case by case with `nearpeak-mpi probe`, and survives its
crashes.

Many cases go into one job. One that crashes, hangs or is refused ends its job, and the rest is
tried in the next one. A case that ends badly after others in its job may do so because of them: it
is tried once more as the only case of a job.
"""

import os
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from nearpeak.decoding import UNDECODABLE
from nearpeak.launching import process
from nearpeak.launching.growing import GrowingLines
from nearpeak.libraries.launch import shell_line
from nearpeak.libraries.library import CommandLine
from nearpeak.terms.logs import FAILED, OWN, WRONG_DATA, crash_words, last_words
from nearpeak.terms.outcomes import GOOD, NOT_TRIED, Status
from nearpeak.terms.sizes import format_sizes
from nearpeak.terms.trials import DATA, OF_SIZES, PLAIN, BadEnd, Outcome, TrialCase
from nearpeak.watch.watched import temporary_folder

LIMIT_SECONDS = 60.0  # without a line from a job: then its current case hangs
SIZES = (8, 64 << 10, 4 << 20)


def probe_options(case: TrialCase, sizes: Sequence[int]) -> list[str]:
    """Returns the options of `nearpeak-mpi probe` for a single case, on its ranks."""
    options = [
        ("--buffers", case.buffers, True),
        ("--operations", case.operation, True),
        ("--allocators", case.allocator, case.allocator != PLAIN),
        ("--offsets", str(case.offset), case.offset != 0),
        ("--checks", case.check, case.check != DATA),
        ("--sizes", format_sizes(sizes), case.check in OF_SIZES),
    ]
    return [word for option, value, differs in options if differs for word in (option, value)]


def line(case: TrialCase, sizes: Sequence[int]) -> str:
    """Returns the line of a case in a file for `--cases`."""
    fields = (case.buffers, case.allocator, case.operation, case.offset, case.check)
    return " ".join(map(str, (*fields, format_sizes(sizes))))


def cases_text(cases: Iterable[TrialCase], sizes: Callable[[TrialCase], Sequence[int]]) -> str:
    """Returns the content of a file for `--cases` of `nearpeak-mpi probe`."""
    return "".join(f"{line(case, sizes(case))}\n" for case in cases)


class _Line(msgspec.Struct, tag_field="record", tag="probe"):
    """A line of `nearpeak-mpi probe` (docs/reference/reading-records.md)."""

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
    """One launch for cases with equally many ranks, in their order.

    `sizes`: the message sizes of a case, in bytes. `launch`: makes the command line of the ranks
    with these options of `probe`. `tell`: called with every outcome as it is known, whose command
    repeats the case alone, and with the cases of the job that had ended before it.
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
        self._outcomes: dict[TrialCase, Outcome] = {}  # in order
        self._since = time.monotonic()
        self.bad_end: BadEnd | None = None

    def run(self, limit_seconds: float = LIMIT_SECONDS) -> list[TrialCase]:
        """Runs the job to its end. Returns the cases that are left for another job, always fewer
        than before."""
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
            left = [case for case in self._cases if case not in self._outcomes]
            if self._begun is None and self._outcomes:
                self.bad_end = self._bad_end(ended, log, limit_seconds)
                return left
            if self._begun is None:
                # It tried nothing, and neither would another job. Without a message of the program
                # itself, the library did not start.
                ours = ended.end == "not started" or last_words(log).startswith(OWN)
                reason = ended.reason or last_words(log)
                if ended.end == "hung":
                    ours, (_, reason) = False, _end_words(ended, log, limit_seconds)
                for case in left:
                    self._end(
                        Outcome(case=case, status=NOT_TRIED if ours else "failed", message=reason),
                        [],
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
            return [case for case in left if case not in self._outcomes]

    @property
    def ended(self) -> list[TrialCase]:
        """The cases whose ends are known, in order."""
        return list(self._outcomes)

    def _bad_end(self, ended: process.Outcome, log: Path, limit_seconds: float) -> BadEnd | None:
        """Returns the bad end of a job that was at no case; None if it ended as it should.

        A refusal ends its job itself; otherwise the exit status says how the cases ended.
        """
        last = list(self._outcomes.values())[-1]
        statuses = {outcome.status for outcome in self._outcomes.values()}
        usual = WRONG_DATA if "wrong data" in statuses else FAILED if statuses != {GOOD} else 0
        if last.status == "refused" or (ended.end == "exited" and ended.exit_status in (0, usual)):
            return None
        status, message = _end_words(ended, log, limit_seconds)
        return BadEnd(
            status=status, message=message, cases=len(self._outcomes), command=last.command
        )

    def _take(self, text: bytes) -> None:
        try:
            line = msgspec.json.decode(text, type=_Line)
        except UNDECODABLE:
            return  # of another kind, or of ranks that wrote at once as they crashed
        case = line.case(self._cases[0].ranks)
        if case in self._outcomes:
            return  # by another rank, or of a case that a refusal has ended
        if line.status == "begun":
            self._begun = line
        else:
            self._begun = None
            fields = msgspec.structs.asdict(line)
            for name in msgspec.structs.fields(TrialCase):
                fields.pop(name.name, None)
            self._end(Outcome(case=case, **fields), self.ended)

    def _end(self, outcome: Outcome, before: list[TrialCase]) -> None:
        """Records the outcome of a case; `before`: the cases that the job had tried when this one
        began."""
        now = time.monotonic()
        case = outcome.case
        self._outcomes[case] = msgspec.structs.replace(
            outcome,
            alone=outcome.status if outcome.bad and not before else None,
            seconds=round(now - self._since, 3),
            command=shell_line(self._launch(probe_options(case, self._sizes(case)))),
        )
        self._tell(self._outcomes[case], before)
        self._since = now


def _end_words(
    ended: process.Outcome, log: Path, limit_seconds: float
) -> tuple[Literal["crashed", "hung"], str]:
    """Names the end of a job that did not end by itself, and the evidence."""
    if ended.end == "hung":
        return "hung", f"no word for {limit_seconds:.0f} s"
    return "crashed", crash_words(ended.exit_status, log)
