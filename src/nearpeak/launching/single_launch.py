# SPDX-License-Identifier: Apache-2.0
"""One launch outside of a study whose figures are read, for explaining and tuning."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from nearpeak.launching.places import NO_PLACE, misplaced, wanted_at
from nearpeak.launching.process import run_tree
from nearpeak.launching.program_records import (
    EnvironmentRecord,
    ProblemRecord,
    ProgramRecord,
    SamplesRecord,
    written,
)
from nearpeak.launching.single import Single
from nearpeak.libraries.library import CommandLine
from nearpeak.terms.logs import NOTHING_SAID, crash_words, last_words
from nearpeak.watch.watched import temporary_folder

LIMIT_SECONDS = 120.0


class LaunchFailed(Exception):
    """A launch had no figure; the message gives the reason."""


@dataclass
class Measured:
    """One case of a launch."""

    case: SamplesRecord
    said: str  # all output of the launch

    @property
    def value(self) -> float:
        """The median, in the unit of the case."""
        return median(self.case.samples)


def measure(
    chosen: Single,
    options: Sequence[str],
    env: Mapping[str, str] | None = None,
    limit_seconds: float = LIMIT_SECONDS,
) -> list[Measured]:
    """Measures one launch, with more options for the measuring program and more variables, and
    returns its cases, one at least. LaunchFailed without a figure, and where one is wrong."""

    def line(jsonl: list[str]) -> CommandLine:
        return chosen.line([*options, *jsonl], env)

    return figures(*launched(chosen, line, chosen.native, limit_seconds))


def figures(records: Sequence[ProgramRecord], output: str) -> list[Measured]:
    """Returns the cases of a launch, one at least; LaunchFailed without, and where data was
    wrong."""
    problems = [record for record in records if isinstance(record, ProblemRecord)]
    cases = [r for r in records if isinstance(r, SamplesRecord) and r.samples]
    fatal = [problem for problem in problems if problem.status == "wrong data" or not cases]
    if fatal:
        raise LaunchFailed(f"{fatal[0].status}: {fatal[0].message}")
    if not cases:
        raise LaunchFailed("it had no figure")
    return [Measured(case, output) for case in cases]


def launched(
    chosen: Single,
    line_with: Callable[[list[str]], CommandLine],
    native: bool,
    limit_seconds: float = LIMIT_SECONDS,
    grace_seconds: float | None = None,
) -> tuple[list[ProgramRecord], str]:
    """Runs a launch where it should run, and returns its records and its output. `line_with`: makes
    its command line, with options that name the file of its records; the two times are those of
    `run_tree`. LaunchFailed."""
    wanted = wanted_at(
        chosen.ends,
        between_hosts=False,
        ceiling=native,
        library=None if native else chosen.library.version_text,
    )
    with temporary_folder("nearpeak-launch-") as folder:
        jsonl, log = Path(folder) / "records.jsonl", Path(folder) / "log"
        line = line_with(["--jsonl", str(jsonl)])
        env = {**os.environ, **line.env}
        ended = run_tree(
            line.argv, env=env, log=log, limit_seconds=limit_seconds, grace_seconds=grace_seconds
        )
        if ended.end == "not started":
            raise LaunchFailed(ended.reason)
        if ended.end == "hung":
            last_line = last_words(log)
            last = "" if last_line == NOTHING_SAID else f"; the last that it said: {last_line}"
            raise LaunchFailed(f"the launch did not end within {limit_seconds:.3g} s{last}")
        records = written(jsonl)
        problem = next((r for r in records if isinstance(r, ProblemRecord)), None)
        if ended.exit_status:
            reason = f"{problem.status}: {problem.message}" if problem else ""
            raise LaunchFailed(reason or crash_words(ended.exit_status, log))
        environment = next((r for r in records if isinstance(r, EnvironmentRecord)), None)
        if wrong := misplaced(wanted, environment) if environment else NO_PLACE:
            raise LaunchFailed(f"no figure of it counts: {wrong}")
        return records, log.read_text("utf-8", errors="replace")
