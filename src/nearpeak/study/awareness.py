# SPDX-License-Identifier: Apache-2.0
"""The GPU-awareness gate: what a library does with device buffers, tried before it is measured.

What a library says of itself is wrong in both directions (docs/methodology.md), so each operation
is tried with each kind of buffers, its data verified, by `nearpeak-mpi probe` in a job of its own:
a crash ends that job alone, and the rest is tried in the next one.
"""

import os
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import msgspec

from nearpeak.libraries.model import CommandLine
from nearpeak.machine import model as machine
from nearpeak.study.buffers import rank_ends
from nearpeak.study.commands import Tools, device_options, rank_launch
from nearpeak.study.logs import OWN, crash_words, last_words
from nearpeak.study.model import Awareness, Contender, label, new_study
from nearpeak.study.process import run_tree

LIMIT_SECONDS = 60.0  # without a line from a job: then the operation that it is at hangs
GOOD = "ok"
NOT_TRIED = "not tried"  # for want of a device or its memory: it says nothing of the library


class Trial(msgspec.Struct, tag_field="record", tag="probe"):
    """A line of `nearpeak-mpi probe` (docs/records.md)."""

    buffers: str
    operation: str
    status: str  # "begun", "ok", "wrong data" or "not tried"
    message: str = ""


class Growth:
    """Whether a file has grown since it was last asked for."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._size = 0

    def __call__(self) -> bool:
        before, self._size = self._size, self._file.stat().st_size if self._file.exists() else 0
        return self._size > before


def try_contender(
    contender: Contender,
    kinds: Sequence[str],
    operations: Sequence[str],
    path: machine.Path,
    tools: Tools,
    shell_line: Callable[[CommandLine], str],
) -> list[Awareness]:
    """What became of each operation with each kind of buffers, on a path between two GPUs."""
    found: dict[tuple[str, str], Awareness] = {}
    wanted = [(kind, operation) for kind in kinds for operation in operations]
    while left := [pair for pair in wanted if pair not in found]:
        # One job for everything, as long as nothing crashes; then one for each kind's rest.
        whole = len(left) == len(wanted)
        kind = left[0][0]
        now = left if whole else [pair for pair in left if pair[0] == kind]
        for one in _run_job(contender, now, path, tools, shell_line):
            found[one.buffers, one.operation] = one
    return [found[pair] for pair in wanted]


def _run_job(
    contender: Contender,
    pairs: Sequence[tuple[str, str]],
    path: machine.Path,
    tools: Tools,
    shell_line: Callable[[CommandLine], str],
) -> list[Awareness]:
    """One job for these pairs (all operations of some kinds): at least one is told of."""
    kinds = list(dict.fromkeys(kind for kind, _ in pairs))
    operations = list(dict.fromkeys(operation for _, operation in pairs))
    with tempfile.TemporaryDirectory(prefix="nearpeak-probe-") as folder:
        jsonl, log = Path(folder) / "probe.jsonl", Path(folder) / "log"
        line = _command(contender, kinds, operations, path, tools, None)
        running = _command(contender, kinds, operations, path, tools, jsonl)
        outcome = run_tree(
            running.argv,
            env={**os.environ, **running.env},
            log=log,
            limit_seconds=LIMIT_SECONDS,
            tick=Growth(jsonl),
        )
        trials = _read(jsonl)
        command = shell_line(line)

        def told(pair: tuple[str, str], status: str, message: str) -> Awareness:
            return Awareness(
                library=contender.library.name,
                settings=contender.settings.name,
                buffers=pair[0],
                operation=pair[1],
                status=status,
                message=message,
                command=command,
            )

        done = {
            pair: told(pair, trials[pair].status, trials[pair].message)
            for pair in pairs
            if pair in trials and trials[pair].status != "begun"
        }
        rest = [pair for pair in pairs if pair not in done]
        if not rest:
            return list(done.values())
        begun = [pair for pair in rest if pair in trials]
        culprit = (begun or rest)[0]
        code = outcome.exit_status
        if outcome.end == "hung":
            end = told(culprit, "hung", f"no word for {LIMIT_SECONDS:.0f} s")
        elif outcome.end == "not started":
            end = told(culprit, NOT_TRIED, outcome.reason)
        elif begun and code not in (0, 1, 2):
            end = told(culprit, "crashed", crash_words(code, log))
        else:
            # Without a word of the program's own it is the library that did not start.
            own = not begun and last_words(log).startswith(OWN)
            end = told(culprit, NOT_TRIED if own else "failed", last_words(log))
        if not begun:
            # It did not come to try anything: neither would it in another job.
            return [*done.values(), *(told(pair, end.status, end.message) for pair in rest)]
        return [*done.values(), end]


def _command(
    contender: Contender,
    kinds: Iterable[str],
    operations: Iterable[str],
    path: machine.Path,
    tools: Tools,
    jsonl: Path | None,
) -> CommandLine:
    ends = rank_ends(path, "D,D")
    assert ends is not None
    program = [
        *(str(tools.mpi_program(contender.library)), "probe"),
        *(word for kind in kinds for word in ("--buffers", kind)),
        *("--operations", ",".join(operations)),
        *device_options(ends, "D,D"),
        *(("--jsonl", str(jsonl)) if jsonl else ()),
    ]
    launch = rank_launch(program, path, ends, "D,D", contender.settings, new_study())
    return tools.command_line(contender.library, launch)


def _read(jsonl: Path) -> dict[tuple[str, str], Trial]:
    """The last word on each pair; what cannot be read was cut off by a crash."""
    found = {}
    lines = jsonl.read_bytes().splitlines() if jsonl.exists() else []
    for line in lines:
        try:
            trial = msgspec.json.decode(line, type=Trial)
        except (msgspec.MsgspecError, ValueError):
            continue
        found[trial.buffers, trial.operation] = trial
    return found


def sentences(found: Iterable[Awareness]) -> list[str]:
    """One for each contender and evidence: what it cannot do, and how that was seen."""
    told: dict[tuple[str, str, bool], dict[str, list[str]]] = {}
    for one in found:
        if one.status != GOOD:
            who = label(one.library, one.settings)
            evidence = one.message or one.status
            kinds = told.setdefault((who, evidence, one.status == NOT_TRIED), {})
            kinds.setdefault(one.buffers, []).append(one.operation)
    lines = []
    for (who, evidence, not_tried), kinds in told.items():
        if not_tried:
            lines.append(f"{who}: could not be tried with {'; '.join(kinds)}: {evidence}")
            continue
        what = "; ".join(f"{kind} {', '.join(names)}" for kind, names in kinds.items())
        lines.append(f"{who}: not GPU-aware for {what}: {evidence}")
    return lines
