# SPDX-License-Identifier: Apache-2.0
"""The bench of a search: launches that are recorded, and played back on --resume."""

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Protocol, TypeVar

import numpy as np

from nearpeak.arrays import Floats
from nearpeak.errors import UserError
from nearpeak.launching.single_launch import LaunchFailed
from nearpeak.libraries.rules import Table
from nearpeak.tune.bench import Bench, Failed
from nearpeak.tune.budget import Work
from nearpeak.tune.candidates import Env
from nearpeak.tune.distances import Distances
from nearpeak.tune.hints import Hints
from nearpeak.tune.journal import (
    Amended,
    Calibrated,
    Checked,
    Crossed,
    Figure,
    Hinted,
    Priced,
    Record,
    Ruled,
    Trial,
    TuneJournal,
    budget_of,
)
from nearpeak.tune.launches import Value, usual_distance
from nearpeak.tune.search import TO_COME
from nearpeak.tune.targets import cost
from nearpeak.tune.tuned import Ceiling

LEAST_LIMIT = 4.0  # seconds of a launch
MOST_TIMES = 2.5  # times the usual launch with default settings: the limit of a launch
FIRST_SHARE = 0.2  # of the time left, at most, for a launch of unknown usual time
SWEPT_SHARE = 0.1  # of the search's time, at most, for the protocols of thresholds
LOOKED_SHARE = 0.05  # of the search's time, at most, for a launch before the first trial
LIMIT_SECONDS = 60.0  # the longest limit of a launch of unknown usual time
Played = TypeVar("Played", Hinted, Crossed, Ruled, Calibrated, Trial, Checked, Priced)


class Launcher(Protocol):
    """The interface that launches (launches.Launches)."""

    def measure(self, env: Env, limit_seconds: float, /) -> list[Value]:
        """Measures each target within this time; LaunchFailed."""

    def guard(self, env: Env, limit_seconds: float, seconds: float, /) -> dict[str, str] | None:
        """Returns how each guarded benchmark ended; None if not all were launched within
        `seconds`."""

    def places(self) -> list[str]:
        """Returns the other places where the library is used."""

    def elsewhere(self, env: Env, place: str, limit_seconds: float, /) -> list[Figure]:
        """Measures the cases of one launch at this place within this time; LaunchFailed."""


class Trials(Bench):
    """The launches of a search, within a budget."""

    def __init__(
        self,
        journal: TuneJournal,
        launcher: Launcher,
        tick: Callable[[float], None] = lambda _: None,
    ) -> None:
        """`tick` is called after each launch with the share of the time for trials that is left."""
        self._journal = journal
        self._launcher = launcher
        self._budget = budget_of(journal.records[:1])
        self._tick = tick
        self._before = journal.records[1:]
        self._at = 0
        self._spent = 0.0
        self._distances = Distances()

    def hints(self, look: Callable[[float], Hints]) -> Hints:
        """Returns the settings that `look` finds to try first, or found before. `look` takes the
        limit of a launch."""

        def new() -> Hinted:
            hinted = look(self._look_limit())
            return Hinted(named=hinted.named, over_ucx=hinted.over_ucx, seconds=0.0)

        record = self._once(Hinted, new)
        return Hints(record.named, record.over_ucx)

    def ceilings(self, look: Callable[[float], list[Ceiling]]) -> list[Ceiling]:
        """Returns the ceilings that `look` measures for the library's own cost model, or measured
        before. `look` takes the limit of a launch."""

        def new() -> Calibrated:
            return Calibrated(ceilings=look(self._look_limit()), seconds=0.0)

        return self._once(Calibrated, new).ceilings

    def thresholds(
        self, look: Callable[[float, Callable[[], float]], list[tuple[str, str]]]
    ) -> list[tuple[str, str]]:
        """Returns the values that `look` finds for thresholds, or found before. `look` takes the
        limit of a launch and a function that returns the seconds left for all of them."""

        def new() -> Crossed:
            return Crossed(found=look(self._look_limit(), self._share(SWEPT_SHARE)), seconds=0.0)

        return self._once(Crossed, new).found

    def rules(
        self, look: Callable[[float, Callable[[], float]], list[Table]], file: Path, share: float
    ) -> list[Table]:
        """Returns the rules that `look` finds for collective operations, or found before, within
        this share of the search's time. `look` takes the same arguments as that of `thresholds`.
        `file`: the file of rules that trials name. UserError if earlier trials named another
        one."""

        def new() -> Ruled:
            tables = look(self._look_limit(), self._share(share))
            return Ruled(tables=tables, file=str(file), seconds=0.0)

        record = self._once(Ruled, new)
        if record.tables and record.file != str(file):
            raise UserError(
                f"{self._journal.folder} was moved, and its trials name {record.file}: move it"
                " back, or start anew in another folder"
            )
        return record.tables

    def measure(self, env: Env, purpose: str) -> Floats | Failed:
        """Measures one launch, as Bench does."""
        trial = self._once(Trial, lambda: self._trial(env, purpose), env=env)
        if trial.failed:
            return Failed(trial.failed)
        costs = [
            cost(value, better) for value, better in zip(trial.values, trial.better, strict=True)
        ]
        return self._distances.corrected(env, trial.distance_ns, np.array(costs))

    def check(self, env: Env) -> str | None:
        """Checks variables, as Bench does. Benchmarks that fail without them do not count."""
        plain = self._checked({})
        now = None if plain is None else self._checked(env)
        if plain is None or now is None:
            return None
        broken = [f"{name}: {end}" for name, end in now.items() if end and not plain.get(name)]
        return "; ".join(broken)

    def places(self) -> list[str]:
        """Returns the other places, as Bench does."""
        return self._launcher.places()

    def elsewhere(self, env: Env, place: str) -> dict[str, float] | Failed:
        """Measures one launch elsewhere, as Bench does."""

        def new() -> Priced:
            record = Priced(env=env, place=place, figures=[], seconds=0.0)
            try:
                record.figures = self._launcher.elsewhere(
                    env, place, self._limit(self._priced(place))
                )
            except LaunchFailed as error:
                record.failed = str(error)
            return record

        record = self._once(Priced, new, env=env, place=place)
        if record.failed:
            return Failed(record.failed)
        return {figure.case: cost(figure.value, figure.better) for figure in record.figures}

    def left(self) -> float:
        """Returns the share of the time that is left, as Bench does."""
        usual, check = self._usual()
        begins = self._budget.begins
        most = self._budget.trials_until(TO_COME * usual + check) - begins
        return 1.0 - (self._spent - begins) / most if most > 0 else 0.0

    def holds(self, launches: int, checks: int, work: Work) -> bool:
        """True if the time holds this work, by the usual launch and check with default settings."""
        usual, check = self._usual()
        return launches * usual + checks * check <= self._left_seconds(work)

    def foreseen(self, launches: int) -> float | None:
        """Returns the needed budget, by the usual launch and check with default settings."""
        usual, check = self._usual()
        so_far = self._spent - self._budget.begins
        needed = self._budget.that_holds(so_far + launches * usual + check)
        return needed if needed > self._budget.seconds else None

    def time_added(self) -> bool:
        """Applies added time, as Bench does. Time that was added after the study had begun is not
        for the search."""
        return self._amend()

    def _checked(self, env: Env) -> dict[str, str] | None:
        earlier = next(
            (
                record
                for record in self._done()
                if isinstance(record, Checked) and record.env == env and record.complete
            ),
            None,
        )
        if earlier is not None:
            return earlier.ends
        record = self._once(Checked, lambda: self._check(env), env=env)
        return record.ends if record.complete else None

    def _check(self, env: Env) -> Checked:
        usual = [r.seconds for r in self._done() if isinstance(r, Checked) and r.complete]
        left = max(0.0, self._left_seconds("proof"))
        ends = self._launcher.guard(env, self._limit(usual), left)
        return Checked(env=env, ends=ends or {}, complete=ends is not None, seconds=0.0)

    def _once(self, kind: type[Played], new: Callable[[], Played], **requested: object) -> Played:
        """Returns the next record, played back or made anew, and counts its seconds. `requested`:
        fields by which a record is the requested one."""
        record = self._played(kind, requested)
        if record is None:
            start = time.monotonic()
            record = new()
            record.seconds = round(time.monotonic() - start, 3)
            self._record(record)
        self._count(record.seconds)
        return record

    def _played(self, kind: type[Played], requested: Mapping[str, object]) -> Played | None:
        """Returns the next record to play back; None if there is none. UserError if it is not the
        requested one: of another kind, with other variables or at another place."""
        self._amend()
        if self._at >= len(self._before):
            return None
        record = self._before[self._at]
        fields = {name: getattr(record, name, None) for name in requested}
        if not isinstance(record, kind) or fields != requested:
            raise UserError(
                f"{self._journal.folder} was searched by other rules: start anew in another folder"
            )
        self._at += 1
        return record

    def _amend(self) -> bool:
        """Applies a budget that was added here for the search; true if one was."""
        amended = False
        while self._at < len(self._before):
            record = self._before[self._at]
            if not isinstance(record, Amended) or record.study:
                break
            self._at += 1
            self._budget = budget_of(self._done())
            amended = True
        return amended

    def _trial(self, env: Env, purpose: str) -> Trial:
        trial = Trial(why=purpose, env=env, values=[], seconds=0.0)
        try:
            values = self._launcher.measure(env, self._limit(self._default_seconds()))
        except LaunchFailed as error:
            trial.failed = str(error)
            return trial
        trial.values = [value.value for value in values]
        trial.units = [value.unit for value in values]
        trial.better = [value.better for value in values]
        trial.distance_ns = usual_distance(value.distance_ns for value in values)
        return trial

    def _limit(self, usual: Sequence[float]) -> float:
        """Returns the limit of a launch in seconds: a few times the usual time. `usual`: seconds of
        earlier launches of its kind."""
        if not usual:
            first = FIRST_SHARE * self._left_seconds("search")
            return max(LEAST_LIMIT, min(LIMIT_SECONDS, first))
        left = max(1.0, self._budget.ends - self._spent)
        return min(left, max(LEAST_LIMIT, MOST_TIMES * median(usual)))

    def _look_limit(self) -> float:
        left = self._budget.until("search") - self._budget.begins
        return max(LEAST_LIMIT, LOOKED_SHARE * left)

    def _share(self, share: float) -> Callable[[], float]:
        """Returns a function that returns the seconds left of this share of the search's time, from
        now."""
        until = time.monotonic() + share * (self._budget.until("search") - self._budget.begins)
        return lambda: until - time.monotonic()

    def _done(self) -> list[Record]:
        """Returns the records up to now, also when they are played back."""
        return self._journal.records[: 1 + self._at]

    def _default_seconds(self) -> list[float]:
        """Returns the seconds of the launches with default settings."""
        return [
            record.seconds
            for record in self._done()
            if isinstance(record, Trial) and not record.env and not record.failed
        ]

    def _usual(self) -> tuple[float, float]:
        """Returns the seconds of a launch and of a check with default settings; 0 before the
        first."""
        launches = self._default_seconds()
        plain = [r.seconds for r in self._done() if isinstance(r, Checked) and not r.env]
        return median(launches) if launches else 0.0, max(plain, default=0.0)

    def _priced(self, place: str) -> list[float]:
        """Returns the seconds of the launches elsewhere that had figures."""
        return [
            record.seconds
            for record in self._done()
            if isinstance(record, Priced) and record.place == place and not record.failed
        ]

    def _left_seconds(self, work: Work) -> float:
        return self._budget.until(work) - self._spent

    def _record(self, record: Record) -> None:
        self._journal.append(record)
        self._at += 1

    def _count(self, seconds: float) -> None:
        self._spent += seconds
        self._tick(self.left())
