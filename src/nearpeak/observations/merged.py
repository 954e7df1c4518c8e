# SPDX-License-Identifier: Apache-2.0
"""Several files merged into one: files of one name are launches of one library."""

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from nearpeak.errors import UserError
from nearpeak.observations.imported import settle_pairs
from nearpeak.observations.load import load_printed
from nearpeak.observations.observed import Block, Launch, Observations
from nearpeak.observations.printed import Printed, read
from nearpeak.terms.identity import Who


class File(NamedTuple):
    """Another tool's output, and the name of what it measured."""

    name: str
    path: Path


def merge(files: Sequence[File]) -> Observations:
    """Merges files: each is a session of its own.

    Raises:
        UserError: as `load` of each file; two have the same content, which is one launch.
    """
    return joined(parts(files))


def parts(files: Sequence[File]) -> list[Observations]:
    """The observations of each file, as a session of its own; no two launches have the same
    number."""
    outputs = [read(file.path) for file in files]
    imported = [
        _renamed(load_printed(printed), file.name, number)
        for number, (printed, file) in enumerate(zip(outputs, files, strict=True))
    ]
    _check_different(outputs)
    settle_pairs(imported)
    for number, launch in enumerate(launch for part in imported for launch in part.launches):
        launch.number = number
    return imported


def joined(parts: Sequence[Observations]) -> Observations:
    """All of them as one; each note of a library once."""
    notes: dict[Who, dict[str, None]] = defaultdict(dict)
    for part in parts:
        for library in part.libraries:
            notes[library.who].update(dict.fromkeys(library.notes))
    libraries = {library.who: library for part in parts for library in part.libraries}
    return replace(
        parts[0],
        name=" and ".join(dict.fromkeys(part.name for part in parts)),
        paths=list({path.place: path for part in parts for path in part.paths}.values()),
        libraries=[replace(library, notes=tuple(notes[who])) for who, library in libraries.items()],
        benchmarks=list(
            {benchmark.name: benchmark for part in parts for benchmark in part.benchmarks}.values()
        ),
        curves=list({curve: None for part in parts for curve in part.curves}),
        sessions=[session for part in parts for session in part.sessions],
        launches=[launch for part in parts for launch in part.launches],
        observed=[observed for part in parts for observed in part.observed],
        gaps=[gap for part in parts for gap in part.gaps],
    )


def _check_different(outputs: Iterable[Printed]) -> None:
    seen: dict[bytes, Path] = {}
    for printed in outputs:
        digest = hashlib.sha256("\n".join(printed.lines).encode()).digest()
        if (same := seen.setdefault(digest, printed.file)) is not printed.file:
            raise UserError(
                f"{same} and {printed.file} hold the same: give the output of each run once"
            )


def _renamed(part: Observations, name: str, number: int) -> Observations:
    """The observations of a file, as session `number` of library `name`."""

    def renamed(who: Who) -> Who:
        return Who(name, who.settings)

    launches: dict[int, Launch] = {}  # by their numbers in the file
    for launch in part.launches:
        block = Block(number, launch.block.number)
        launches[launch.number] = replace(launch, who=renamed(launch.who), block=block)
    return replace(
        part,
        libraries=[replace(library, who=renamed(library.who)) for library in part.libraries],
        sessions=[replace(session, number=number) for session in part.sessions],
        launches=list(launches.values()),
        observed=[
            replace(observed, launch=launches[observed.launch.number]) for observed in part.observed
        ],
        gaps=[replace(gap, launch=launches[gap.launch.number]) for gap in part.gaps],
    )
