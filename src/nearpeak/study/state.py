# SPDX-License-Identifier: Apache-2.0
"""What a study's records say about what is still to be run: the same live and after --resume."""

import statistics
from collections.abc import Iterable

from nearpeak.study.estimate import Estimate, Key, key_of
from nearpeak.study.model import Plan, PlannedLaunch
from nearpeak.study.precision import precise
from nearpeak.study.records import LaunchEndRecord, LaunchRecord, Record, SamplesRecord

GIVE_UP_AFTER = 3  # failures in a row without a single sample

Cell = tuple[str, str, str, int, str]  # metric, better, benchmark or method, size, buffers


class State:
    """Fed with every record in order; asked which launches remain."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.estimate = Estimate(plan)
        self.seconds = 0.0  # of all launches that ended
        self.ended: dict[int, str] = {}  # launch -> status
        self._open: list[SamplesRecord] = []
        self._failures: dict[Key, int] = {}
        self._medians: dict[Key, dict[Cell, list[tuple[int, float]]]] = {}  # (block, median)
        self._done: dict[Key, int] = {}  # first block in which it is not launched any more

    def feed(self, record: Record) -> None:
        """Takes in one record."""
        if isinstance(record, LaunchRecord):
            self._open = []
        elif isinstance(record, SamplesRecord):
            self._open.append(record)
        elif isinstance(record, LaunchEndRecord):
            self._end(record)

    def failures_with(self, planned: PlannedLaunch, status: str) -> int:
        """Failures in a row without samples, once the running launch has ended so."""
        if status == "ok" or self._open:
            return 0
        return self._failures.get(key_of(planned), 0) + 1

    def remaining(self, block: int) -> list[PlannedLaunch]:
        """The launches of a block that are still to be run, in order."""
        self._look(block)
        return [
            planned
            for planned in self.plan.launches
            if planned.block == block
            and planned.launch not in self.ended
            and not self._is_done(key_of(planned), block)
        ]

    def contenders_done(self, block: int) -> bool:
        """Whether no MPI launch is needed any more, from this block on."""
        self._look(block)
        return all(self._is_done(key, block) for key in self._keys("mpi"))

    def _end(self, record: LaunchEndRecord) -> None:
        samples, self._open = self._open, []
        self.seconds += record.seconds
        if record.status == "interrupted":
            return
        planned = self.plan.launches[record.launch]
        key = key_of(planned)
        self.ended[record.launch] = record.status
        self.estimate.add(planned, record.seconds)
        if record.status == "ok" or samples:
            self._failures[key] = 0
        else:
            self._failures[key] = self._failures.get(key, 0) + 1
            if self._failures[key] >= GIVE_UP_AFTER:
                self._done.setdefault(key, planned.block + 1)
        if record.status == "failed":
            return  # its numbers cannot be believed
        cells = self._medians.setdefault(key, {})
        for one in samples:
            cell = (
                *(one.metric, one.better, one.method or one.benchmark),
                *(one.size_bytes, one.buffers),
            )
            cells.setdefault(cell, []).append((planned.block, statistics.median(one.samples)))

    def _look(self, block: int) -> None:
        """Judges precision at every look that lies before this block."""
        for look in self.plan.looks:
            if look > block:
                return
            for key in self._keys("mpi"):
                if key not in self._done and self._precise(key, look):
                    self._done[key] = look
            for key in self._keys("ceiling"):
                if key not in self._done and all(
                    self._is_done(user, look) for user in self._users(key)
                ):
                    self._done[key] = look

    def _precise(self, key: Key, look: int) -> bool:
        cells = self._medians.get(key, {})
        return bool(cells) and all(
            precise([median for block, median in medians if block < look], better)
            for (_, better, *_), medians in cells.items()
        )

    def _users(self, ceiling: Key) -> Iterable[Key]:
        """The MPI launches that a ceiling is the ceiling of; for local memory, all of them."""
        users = [key for key in self._keys("mpi") if key[1] == ceiling[1]]
        return users or self._keys("mpi")

    def _keys(self, role: str) -> list[Key]:
        return sorted({key_of(one) for one in self.plan.launches if one.role == role}, key=str)

    def _is_done(self, key: Key, block: int) -> bool:
        return self._done.get(key, block + 1) <= block
