# SPDX-License-Identifier: Apache-2.0
"""Shows the progress of a study: a bar on a terminal, plain lines elsewhere."""

import sys
import time

import rich.progress
import rich.table

from nearpeak.console import PlainConsole
from nearpeak.planning.plan import Plan, PlannedLaunch
from nearpeak.planning.summary import variants_label
from nearpeak.study.records import LaunchEndRecord
from nearpeak.terms.sizes import format_seconds

REFRESH_SECONDS = 1.0  # rare, because the bar shares the machine with the measurement


def launch_label(plan: Plan, planned: PlannedLaunch) -> str:
    """Describes what a launch measures, for people."""
    if planned.contender is None:
        return f"ceiling of {planned.path}"
    variants = variants_label(plan, (plan.variants[number] for number in planned.variants))
    return f"{plan.contenders[planned.contender].label}, {planned.path}, {variants}"


def left_out_words(label: str) -> str:
    """Reports that something is not measured any more."""
    return f"left out:   {label}: launches take longer than estimated"


class PlainProgress:
    """One line a launch, for pipes and log files."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._left = 0.0

    def __enter__(self) -> "PlainProgress":
        return self

    def __exit__(self, *_: object) -> None: ...

    def begin(self, _planned: PlannedLaunch, left: float) -> None:
        """Remembers the time left, which the line at the end of the launch prints."""
        self._left = left

    def tick(self) -> None:
        """Does nothing: lines are for what has happened."""

    def end(self, planned: PlannedLaunch, record: LaunchEndRecord) -> None:
        """Prints the line."""
        left = max(0.0, self._left - record.seconds)
        print(
            f"block {planned.block + 1}: {launch_label(self._plan, planned)}: {record.status}"
            f"{': ' + record.text if record.text else ''}"
            f" ({format_seconds(record.seconds)}; {format_seconds(left)} left)",
            flush=True,
        )

    def leave_out(self, label: str) -> None:
        """Prints the line."""
        print(left_out_words(label), flush=True)


class BarProgress:
    """A bar with the time left; launches that did not end well stay above it as lines."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._bar = rich.progress.Progress(
            rich.progress.BarColumn(bar_width=16),
            rich.progress.TextColumn(
                "{task.description}",
                markup=False,
                table_column=rich.table.Column(no_wrap=True, overflow="ellipsis", ratio=1),
            ),
            expand=True,
            auto_refresh=False,  # no thread of its own: it would disturb the measurement
            console=PlainConsole(),
        )
        self._task = self._bar.add_task("", total=1.0)
        self._label = ""
        self._done = 0.0
        self._ends_at = 0.0
        self._refreshed = 0.0

    def __enter__(self) -> "BarProgress":
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def begin(self, planned: PlannedLaunch, left: float) -> None:
        """Shows what runs now."""
        self._label = f"block {planned.block + 1}, {launch_label(self._plan, planned)}"
        self._ends_at = time.monotonic() + left
        self._refresh()

    def tick(self) -> None:
        """Counts the time left down, once a second."""
        if time.monotonic() - self._refreshed >= REFRESH_SECONDS:
            self._refresh()

    def end(self, planned: PlannedLaunch, record: LaunchEndRecord) -> None:
        """Leaves a line where something went wrong."""
        self._done += record.seconds
        if record.status != "ok":
            label = launch_label(self._plan, planned)
            self._bar.console.print(f"{label}: {record.status}: {record.text}")

    def leave_out(self, label: str) -> None:
        """Leaves the line."""
        self._bar.console.print(left_out_words(label))

    def _refresh(self) -> None:
        self._refreshed = time.monotonic()
        left = max(0.0, self._ends_at - self._refreshed)
        self._bar.update(
            self._task,
            completed=self._done,
            total=max(self._done + left, 1e-9),
            description=f"{format_seconds(left)} left; {self._label}",
            refresh=True,
        )


def make_progress(plan: Plan) -> "PlainProgress | BarProgress":
    """Returns a bar when stdout is a terminal, else plain lines."""
    return BarProgress(plan) if sys.stdout.isatty() else PlainProgress(plan)
