# SPDX-License-Identifier: Apache-2.0
"""The bench of a search: launches that are recorded, and played back where they were before."""

import time
from collections.abc import Callable, Sequence
from statistics import median
from typing import Protocol, TypeVar

import numpy as np

from nearpeak.arrays import Floats
from nearpeak.errors import UserError
from nearpeak.study.launching import LaunchFailed
from nearpeak.tune.candidates import Env
from nearpeak.tune.distances import Distances
from nearpeak.tune.journal import (
    Calibrated,
    Checked,
    Figure,
    Hinted,
    Priced,
    Record,
    Trial,
    TuneJournal,
)
from nearpeak.tune.launches import LIMIT_SECONDS, Value
from nearpeak.tune.search import Bench, Failed
from nearpeak.tune.targets import cost
from nearpeak.tune.tuned import Ceiling

LEAST_LIMIT = 4.0  # seconds of a launch
MOST_TIMES = 2.5  # as long as the usual launch without anything
Played = TypeVar("Played", Hinted, Calibrated, Trial, Checked, Priced)


class Launcher(Protocol):
    """Who launches (launches.Launches)."""

    def measure(self, env: Env, limit_seconds: float, /) -> list[Value]:
        """The figure of each target, within this time; LaunchFailed."""

    def guard(self, env: Env, /) -> dict[str, str]:
        """How each of what must work ended."""

    def places(self) -> list[str]:
        """Where else it is used."""

    def elsewhere(self, env: Env, place: str, /) -> list[Figure]:
        """The cases of one launch there; LaunchFailed."""


class Trials(Bench):
    """A search's launches, within a time."""

    def __init__(
        self,
        journal: TuneJournal,
        launcher: Launcher,
        seconds: float,
        tick: Callable[[float], None] = lambda _: None,
    ) -> None:
        """`seconds`: for all of them; `tick` is told what is left of it after each."""
        self._journal = journal
        self._launcher = launcher
        self._seconds = seconds
        self._tick = tick
        self._before = journal.records[1:]
        self._at = 0
        self._spent = 0.0
        self._distances = Distances()

    def hints(self, look: Callable[[], list[tuple[str, str]]]) -> list[tuple[str, str]]:
        """What `look` finds to try first, or found before."""
        record = self._played(Hinted)
        if record is None:
            start = time.monotonic()
            named = look()
            record = Hinted(named=named, seconds=round(time.monotonic() - start, 3))
            self._record(record)
        self._count(record.seconds)
        return record.named

    def ceilings(self, look: Callable[[], list[Ceiling]]) -> list[Ceiling]:
        """What `look` measures for the library's own cost model, or measured before."""
        record = self._played(Calibrated)
        if record is None:
            start = time.monotonic()
            found = look()
            record = Calibrated(ceilings=found, seconds=round(time.monotonic() - start, 3))
            self._record(record)
        self._count(record.seconds)
        return record.ceilings

    def measure(self, env: Env, why: str) -> Floats | Failed:
        """As Bench has it."""
        trial = self._played(Trial, env) or self._new(env, why)
        self._count(trial.seconds)
        if trial.failed:
            return Failed(trial.failed)
        costs = [cost(value, how) for value, how in zip(trial.values, trial.better, strict=True)]
        return self._distances.corrected(env, trial.distance_ns, np.array(costs))

    def check(self, env: Env) -> str:
        """As Bench has it; what does not work without the variables is not looked at."""
        plain = self._checked({})
        now = self._checked(env)
        broken = [f"{name}: {end}" for name, end in now.items() if end and not plain.get(name)]
        return "; ".join(broken)

    def places(self) -> list[str]:
        """As Bench has it."""
        return self._launcher.places()

    def elsewhere(self, env: Env, place: str) -> dict[str, float] | Failed:
        """As Bench has it."""
        record = self._played(Priced, env)
        if record is None:
            start = time.monotonic()
            figures: list[Figure] = []
            failed = ""
            try:
                figures = self._launcher.elsewhere(env, place)
            except LaunchFailed as error:
                failed = str(error)
            seconds = round(time.monotonic() - start, 3)
            record = Priced(env=env, place=place, figures=figures, failed=failed, seconds=seconds)
            self._record(record)
        self._count(record.seconds)
        if record.failed:
            return Failed(record.failed)
        return {each.case: cost(each.value, each.better) for each in record.figures}

    def left(self) -> float:
        """As Bench has it."""
        return 1.0 - self._spent / self._seconds

    def _checked(self, env: Env) -> dict[str, str]:
        known = next(
            (
                record
                for record in self._journal.records[: 1 + self._at]
                if isinstance(record, Checked) and record.env == env
            ),
            None,
        )
        if known is not None:
            return known.ends
        found = self._played(Checked, env)
        if found is None:
            start = time.monotonic()
            ends = self._launcher.guard(env)
            seconds = time.monotonic() - start
            found = Checked(env=env, ends=ends, seconds=round(seconds, 3))
            self._record(found)
        self._count(found.seconds)
        return found.ends

    def _played(self, kind: type[Played], env: Env | None = None) -> Played | None:
        """The next record of before; UserError where it is not what is asked for now: of another
        kind, or with other variables."""
        if self._at >= len(self._before):
            return None
        record = self._before[self._at]
        if not isinstance(record, kind) or getattr(record, "env", None) != env:
            raise UserError(
                f"{self._journal.folder} was searched by other rules: start anew in another folder"
            )
        self._at += 1
        return record

    def _new(self, env: Env, why: str) -> Trial:
        start = time.monotonic()
        values: list[Value] = []
        failed = ""
        try:
            values = self._launcher.measure(env, self._limit())
        except LaunchFailed as error:
            failed = str(error)
        trial = Trial(
            why=why,
            env=env,
            values=[each.value for each in values],
            units=[each.unit for each in values],
            better=[each.better for each in values],
            failed=failed,
            distance_ns=_distance(values),
            seconds=round(time.monotonic() - start, 3),
        )
        self._record(trial)
        return trial

    def _limit(self) -> float:
        """Seconds of a launch: what takes a few times as long as the library as it is has lost."""
        own = [
            record.seconds
            for record in self._journal.records
            if isinstance(record, Trial) and not record.env and not record.failed
        ]
        return max(LEAST_LIMIT, MOST_TIMES * median(own)) if own else LIMIT_SECONDS

    def _record(self, record: Record) -> None:
        self._journal.append(record)
        self._at += 1

    def _count(self, seconds: float) -> None:
        self._spent += seconds
        self._tick(self.left())


def _distance(values: Sequence[Value]) -> float | None:
    """The usual one of a launch."""
    known = [each.distance_ns for each in values if each.distance_ns]
    return median(known) if known else None
