# SPDX-License-Identifier: Apache-2.0
"""Several files merged into one: files of one name are launches of one library."""

import hashlib
import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple, TypeVar

from nearpeak.errors import UserError
from nearpeak.observations.imported import settle_pairs
from nearpeak.observations.load import load_printed
from nearpeak.observations.observed import Block, Library, Observations, relaunched
from nearpeak.observations.printed import Printed, read
from nearpeak.terms.benchmarks import by_name
from nearpeak.terms.identity import Who

T = TypeVar("T")


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
    names = [file.name for file in files]
    imported = list(map(_renamed, map(load_printed, outputs), names, itertools.count()))
    _check_different(outputs)
    settle_pairs(imported)
    launches = itertools.chain.from_iterable(part.launches for part in imported)
    for number, launch in enumerate(launches):
        launch.number = number
    return imported


def joined(parts: Sequence[Observations]) -> Observations:
    """All of them as one; each note of a library once."""

    def together(get: Callable[[Observations], Iterable[T]]) -> list[T]:
        return list(itertools.chain.from_iterable(map(get, parts)))

    libraries: dict[Who, Library] = {}
    for library in together(lambda part: part.libraries):
        earlier = libraries.get(library.who, library).notes
        notes = dict.fromkeys([*earlier, *library.notes])
        libraries[library.who] = replace(library, notes=tuple(notes))
    return replace(
        parts[0],
        name=" and ".join(dict.fromkeys(part.name for part in parts)),
        paths=list({path.place: path for path in together(lambda part: part.paths)}.values()),
        libraries=list(libraries.values()),
        benchmarks=list(by_name(together(lambda part: part.benchmarks)).values()),
        curves=list(dict.fromkeys(together(lambda part: part.curves))),
        sessions=together(lambda part: part.sessions),
        launches=together(lambda part: part.launches),
        observed=together(lambda part: part.observed),
        gaps=together(lambda part: part.gaps),
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

    blocks = ((launch, Block(number, launch.block.number)) for launch in part.launches)
    launches = {  # by their numbers in the file
        launch.number: replace(launch, who=renamed(launch.who), block=block)
        for launch, block in blocks
    }
    copies = {old: [launch] for old, launch in launches.items()}
    return replace(
        part,
        libraries=[replace(library, who=renamed(library.who)) for library in part.libraries],
        sessions=[replace(session, number=number) for session in part.sessions],
        launches=list(launches.values()),
        observed=relaunched(part.observed, copies),
        gaps=relaunched(part.gaps, copies),
    )
