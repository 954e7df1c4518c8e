# SPDX-License-Identifier: Apache-2.0
"""A side of a comparison: single studies, or folders of studies."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from nearpeak.compare.failures import Launched, launched
from nearpeak.compare.variables import Inherited, inherited
from nearpeak.errors import UserError
from nearpeak.observations.load import load
from nearpeak.results.build import summarise
from nearpeak.results.results import Results
from nearpeak.terms.study_files import PLAN


class Study(NamedTuple):
    """A study, and where it lies."""

    folder: Path
    results: Results
    launches: Sequence[Launched] = ()
    inherited: Inherited = MappingProxyType({})


def load_side(folders: Iterable[Path]) -> list[Study]:
    """Loads all studies of a side, in order of their start.

    A folder that is no study stands for the studies in it.

    Raises:
        UserError: no study there, one that cannot be read, or the same one twice.
    """
    studies = [_read(folder) for given in folders for folder in _studies(given)]
    _check_different(studies)
    return sorted(studies, key=lambda study: study.results.started)


class Skipped(NamedTuple):
    """A folder that gave no study, and why."""

    folder: Path
    why: str


def load_usable(folders: Iterable[Path]) -> tuple[list[Study], list[Skipped]]:
    """Loads all studies that can be read, in order of their start, each only once.

    Raises:
        UserError: no study there, or none that can be read.
    """
    studies: list[Study] = []
    skipped: list[Skipped] = []
    for folder in [folder for given in folders for folder in _studies(given)]:
        try:
            study = _read(folder)
            _check_different([*studies, study])
        except UserError as error:
            skipped.append(Skipped(folder, str(error)))
        else:
            studies.append(study)
    if not studies:
        raise UserError(skipped[0].why)
    return sorted(studies, key=lambda study: study.results.started), skipped


def check_apart(old: Iterable[Study], new: Iterable[Study]) -> None:
    """Raises UserError if a study is on both sides, as a copy or resumed."""
    old_folders = {_identity(study): study.folder for study in old}
    for study in new:
        if (folder := old_folders.get(_identity(study))) is not None:
            raise UserError(
                f"{folder} and {study.folder} are the same study: compare it with another one,"
                " measured at another time"
            )


def _read(folder: Path) -> Study:
    observations = load(folder)
    return Study(folder, summarise(observations), launched(observations), inherited(observations))


def _studies(folder: Path) -> Iterator[Path]:
    if not folder.is_dir():
        raise UserError(f"{folder}: no such folder; give folders that `nearpeak study` wrote")
    if (folder / PLAN).is_file():
        yield folder
        return
    inner = [file for file in sorted(folder.iterdir()) if (file / PLAN).is_file()]
    if not inner:
        raise UserError(
            f"{folder}: neither a study nor a folder of studies (no {PLAN} there, nor one folder"
            " below); give folders that `nearpeak study` wrote"
        )
    yield from inner


def _check_different(studies: Sequence[Study]) -> None:
    """Raises UserError for a copy, which would count as one more session and make verdicts too
    certain."""
    folders: dict[tuple[str, str], Path] = {}
    for study in studies:
        name = _identity(study)
        if name in folders:
            raise UserError(
                f"{folders[name]} and {study.folder} are the same study: give it only once"
            )
        folders[name] = study.folder


def _identity(study: Study) -> tuple[str, str]:
    """Returns the same identity for a study, its copies, and itself after `--resume`."""
    return study.results.study, study.results.started
