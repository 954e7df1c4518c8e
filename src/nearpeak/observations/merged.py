# SPDX-License-Identifier: Apache-2.0
"""What several files hold, as one: those of one name are launches of one library."""

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from nearpeak.errors import UserError
from nearpeak.observations.load import load
from nearpeak.observations.observed import Block, Launch, Observations
from nearpeak.terms.identity import Who


class File(NamedTuple):
    """Another tool's output, and the name of what it measured."""

    name: str
    path: Path


def merge(files: Sequence[File]) -> Observations:
    """Each file is a session of its own.

    Raises:
        UserError: as `load` of each file; two have the same content, which is one launch.
    """
    parts = [_renamed(file, number) for number, file in enumerate(files)]
    _check_different(files)
    launches = [launch for part in parts for launch in part.launches]
    for number, launch in enumerate(launches):
        launch.number = number
    scopes: dict[Who, list[str]] = {}
    for part in parts:
        for library in part.libraries:
            scopes.setdefault(library.who, []).append(library.scope)
    libraries = {library.who: library for part in parts for library in part.libraries}
    return replace(
        parts[0],
        name=" and ".join(dict.fromkeys(file.path.name for file in files)),
        paths=list({path.id: path for part in parts for path in part.paths}.values()),
        libraries=[
            replace(library, scope=" ".join(dict.fromkeys(scopes[who])))
            for who, library in libraries.items()
        ],
        benchmarks=list({of.name: of for part in parts for of in part.benchmarks}.values()),
        curves=list({curve: None for part in parts for curve in part.curves}),
        sessions=[session for part in parts for session in part.sessions],
        launches=launches,
        observed=[observed for part in parts for observed in part.observed],
        gaps=[gap for part in parts for gap in part.gaps],
    )


def _check_different(files: Sequence[File]) -> None:
    seen: dict[bytes, Path] = {}
    for file in files:
        digest = hashlib.sha256(file.path.read_bytes()).digest()
        if (same := seen.setdefault(digest, file.path)) is not file.path:
            raise UserError(
                f"{same} and {file.path} hold the same: give the output of each run once"
            )


def _renamed(file: File, number: int) -> Observations:
    """What a file holds, as session `number` of what it is called."""
    found = load(file.path)
    who = Who(file.name)
    launches: dict[int, Launch] = {}  # by their numbers in the file
    for launch in found.launches:
        block = Block(number, launch.block.number)
        launches[launch.number] = replace(launch, who=who, block=block)
    return replace(
        found,
        libraries=[replace(library, who=who) for library in found.libraries],
        sessions=[replace(session, number=number) for session in found.sessions],
        launches=list(launches.values()),
        observed=[
            replace(observed, launch=launches[observed.launch.number])
            for observed in found.observed
        ],
        gaps=[replace(gap, launch=launches[gap.launch.number]) for gap in found.gaps],
    )
