# SPDX-License-Identifier: Apache-2.0
"""What came of a tuning, on the terminal."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.table import Table

from nearpeak.console import PlainConsole
from nearpeak.libraries.profiles import Evidence
from nearpeak.numbers import count, number
from nearpeak.tune.tuned import Calibration, Tuned

WIDTH_OF_A_FILE = 160  # columns, where output is no terminal
LEFT = ("", "verdict", "CPUs apart")  # columns of words
LISTED = 8  # of what is slower, offered or refused; tune.json has all


def print_tuned(found: Tuned, files: Mapping[str, Sequence[Path]], report: Path) -> None:
    """Before and after, what it costs, and what was written. `files`: of each profile, by where it
    may be used; the profile itself comes first."""
    console = PlainConsole(width=None if sys.stdout.isatty() else WIDTH_OF_A_FILE)
    console.print(f"\n{sentence(found)}", style="bold")
    for name, value in found.env.items():
        console.print(f"  {name}={value}")
    if found.evidence:
        console.print()
        console.print(_table(found.evidence))
        console.print("[a, b]: 95 % interval, of launches that took no part in the search")
    if found.free is not None:
        words = "and is taken" if found.free.taken else "and is not confirmed"
        title = f"What costs nothing elsewhere by the search, {words} ({_assigned(found.free.env)})"
        _list(console, title, [_words(each) for each in found.free.evidence])
    if found.calibration is not None:
        title = "With measured ceilings in its own cost model alone"
        title += f" ({_assigned(found.calibration.env)})"
        _list(console, title, _calibrated(found.calibration, found.targets))
    _list(console, "Slower with it", [_words(each) for each in found.slower])
    far = [row for row in found.evidence if row.slower_at]
    _list(console, "Slower at one of the distances of the CPUs", [_words(row) for row in far])
    _list(console, "Broken with it", found.broken)
    _list(console, "Too few launches to tell, for a longer --budget", found.unguarded)
    _list(
        console,
        f"Faster for some alone ({' '.join(found.targets)}), by the search",
        [f"{o.setting}: {' '.join(map(number, o.times))} times as fast" for o in found.offers],
    )
    _list(console, "Not possible", [f"{each.setting}: {each.why}" for each in found.refused])
    _list(console, "The time did not hold, for a longer --budget", found.lacking)
    searched = f"{count(found.candidates, 'value')} tried in {count(found.launches, 'launch')}"
    console.print(f"\n{searched}, {found.seconds:.0f} s")
    if found.unused_seconds:
        why = "nothing was taken that a study would have to confirm"
        if found.lacking:
            why = "it does not hold what is lacking and the study that confirms it"
        console.print(f"{found.unused_seconds:.0f} s of the budget were not used: {why}")
    for scope, written in files.items():
        console.print(f"Written: {', '.join(map(str, written))}", soft_wrap=True)
        console.print(f"To use it {scope}: --mpi {found.library}@{written[0]}", soft_wrap=True)
    if found.evidence:
        console.print(f"Report: {report}", soft_wrap=True)


def sentence(found: Tuned) -> str:
    """What came of it."""
    nothing = "no setting that was tried makes it faster."
    if found.lacking:
        nothing = "no setting was shown to make it faster in the time that there was."
    where = f"{found.library} {found.version}, {found.path}{_apart(found)}, buffers {found.buffers}"
    elsewhere = "elsewhere" if found.slower else "between CPUs at another distance"
    said = {
        "taken": "these settings make it faster, and nothing that was measured slower:",
        "taken here alone": f"these settings make it faster here, and slower {elsewhere}:",
        "not taken": "the search took these settings, and fresh launches did not confirm them:",
        "nothing helps": nothing,
        "fails": "it does not work as it is, so that nothing could be tried.",
    }
    return f"{where}: {said[found.verdict]}"


def _apart(found: Tuned) -> str:
    """` (CPUs 60.0 to 67.0 ns apart)`, where it was tuned."""
    own = found.distances.get(found.path)
    return f" (CPUs {' and '.join(at.words for at in own)} apart)" if own else ""


def _table(rows: Sequence[Evidence]) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("", overflow="fold")
    apart = ["CPUs apart"] if any(row.apart for row in rows) else []
    for title in ("as it is", "tuned", "", "ceiling", "times as fast", "verdict", *apart):
        table.add_column(title, justify="left" if title in LEFT else "right")
    for row in rows:
        table.add_row(
            row.case,
            number(row.before),
            number(row.after),
            row.unit,
            "" if row.ceiling is None else number(row.ceiling),
            f"{number(row.times)}{_interval(row.ci95)}",
            row.verdict,
            *([row.apart] if apart else []),
        )
    return table


def _interval(ci95: Sequence[float]) -> str:
    return f" [{number(ci95[0])}, {number(ci95[1])}]" if ci95 else ""


def _assigned(env: Mapping[str, str]) -> str:
    return ", ".join(f"{name}={value}" for name, value in env.items())


def _calibrated(found: Calibration, targets: Sequence[str]) -> list[str]:
    """What it does to each target."""
    if not found.times:
        return [f"too few rounds to tell ({found.rounds})"]
    return [
        f"{target}: {number(times)}{_interval(ci95)} times as fast"
        f" in {count(found.rounds, 'round')}{_faster(ci95)}"
        for target, times, ci95 in zip(targets, found.times, found.ci95, strict=True)
    ]


def _faster(ci95: Sequence[float]) -> str:
    low, high = ci95
    return ": faster" if low > 1 else ": slower" if high < 1 else ", which is no difference"


def _words(row: Evidence) -> str:
    apart = f" (CPUs apart: {row.apart})" if row.apart else ""
    return (
        f"{row.case}: {number(row.before)} -> {number(row.after)} {row.unit},"
        f" {number(row.times)}{_interval(row.ci95)} times as fast{apart}"
    )


def _list(console: PlainConsole, title: str, lines: Sequence[str]) -> None:
    if not lines:
        return
    console.print(f"\n{title}:")
    for line in lines[:LISTED]:
        console.print(f"  {line}")
    if len(lines) > LISTED:
        console.print(f"  and {len(lines) - LISTED} more: see tune.json")
