# SPDX-License-Identifier: Apache-2.0
"""One launch outside of a study whose figures are read: what explaining and tuning start."""

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
from nearpeak.libraries.library import CommandLine
from nearpeak.study.single import Single
from nearpeak.terms.logs import NOTHING_SAID, crash_words, last_words
from nearpeak.watch.watched import temporary_folder

LIMIT_SECONDS = 120.0


class LaunchFailed(Exception):
    """A launch had no figure; the message says why."""


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
    words: Sequence[str],
    env: Mapping[str, str] | None = None,
    limit_seconds: float = LIMIT_SECONDS,
) -> list[Measured]:
    """One launch, with more words for the measuring program and more variables: its cases, one at
    least. LaunchFailed without a figure, and where one is wrong."""

    def line(jsonl: list[str]) -> CommandLine:
        return chosen.line([*words, *jsonl], env)

    return figures(*launched(chosen, line, chosen.native, limit_seconds))


def figures(records: Sequence[ProgramRecord], said: str) -> list[Measured]:
    """The cases of a launch, one at least; LaunchFailed without, and where data was wrong."""
    problems = [record for record in records if isinstance(record, ProblemRecord)]
    cases = [r for r in records if isinstance(r, SamplesRecord) and r.samples]
    for problem in problems:
        if problem.status == "wrong data" or not cases:
            raise LaunchFailed(f"{problem.status}: {problem.message}")
    if not cases:
        raise LaunchFailed("it had no figure")
    return [Measured(case, said) for case in cases]


def launched(
    chosen: Single,
    line_with: Callable[[list[str]], CommandLine],
    native: bool,
    limit_seconds: float = LIMIT_SECONDS,
    grace_seconds: float | None = None,
) -> tuple[list[ProgramRecord], str]:
    """The records of a launch that ran where it should, and its output. `line_with`: the launch,
    of words that name the file of its records; the two times are those of `run_tree`.
    LaunchFailed."""
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
            said = last_words(log)
            last = "" if said == NOTHING_SAID else f"; the last that it said: {said}"
            raise LaunchFailed(f"the launch did not end within {limit_seconds:.3g} s{last}")
        records = written(jsonl)
        problem = next((r for r in records if isinstance(r, ProblemRecord)), None)
        if ended.exit_status:
            why = f"{problem.status}: {problem.message}" if problem else ""
            raise LaunchFailed(why or crash_words(ended.exit_status, log))
        where = next((r for r in records if isinstance(r, EnvironmentRecord)), None)
        if wrong := misplaced(wanted, where) if where else NO_PLACE:
            raise LaunchFailed(f"no figure of it counts: {wrong}")
        return records, log.read_text("utf-8", errors="replace")
