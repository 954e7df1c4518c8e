# SPDX-License-Identifier: Apache-2.0
"""Imported figures on the paths of a study, for comparison with the study's own."""

import itertools
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import msgspec

from nearpeak.errors import UserError, closest
from nearpeak.machine.machine import Gpu, Machine
from nearpeak.numbers import count
from nearpeak.observations.imported import SOME_RANKS
from nearpeak.observations.merged import File, joined, parts
from nearpeak.observations.observed import Block, Launch, Library, Observations, relaunched
from nearpeak.terms.axes import staging
from nearpeak.terms.benchmarks import by_name
from nearpeak.terms.buffers import ceiling_buffers, rank_ends
from nearpeak.terms.identity import Axes, Case, Curve
from nearpeak.terms.path import DataPath


class Study(NamedTuple):
    """A study, and the folder that it was read from."""

    folder: Path
    observations: Observations

    @property
    def path_ids(self) -> str:
        """All of its paths between ranks, in words."""
        paths = self.observations.paths
        return ", ".join(repr(path.id) for path in paths if path.transport != "local")


def put_beside(
    study: Study, files: Sequence[File], chosen: Mapping[str, str], all_on: str | None
) -> Observations:
    """Adds imported figures to a study, as further measurements.

    `chosen`: the id of the study's path for each file, by the file's name; `all_on`: that of all
    other files. A file without a path by either is on the one path that it fits. Its curves have
    the axes of the study's, except axes that the file names itself. Cells that name their ends are
    on the paths between these, and left out where the study has none.

    Raises:
        UserError: as `load` of each file; a name that is a library of the study too, or no file's;
            a path that the study has not, or that does not fit; a file that fits several; GPUs of
            another machine.
    """
    ours, read = study.observations, parts(files)
    imported = joined(read)
    names = list(dict.fromkeys(library.who.library for library in imported.libraries))
    for name in {library.who.library for library in ours.libraries} & set(names):
        raise UserError(
            f"{name} is a library of {study.folder}, too: call the file otherwise, as"
            f" my-{name}=FILE"
        )
    for name in chosen.keys() - set(names):
        raise UserError(f"--path {name}=...: no file is called so, but {', '.join(names)}")
    wanted = {name: chosen.get(name, all_on) for name in names}
    moved = _Moved(study, read, wanted)
    benchmarks = by_name(ours.benchmarks)
    return replace(
        ours,
        libraries=[*ours.libraries, *map(moved.library, imported.libraries)],
        benchmarks=list((benchmarks | by_name(imported.benchmarks) | benchmarks).values()),
        curves=list(dict.fromkeys([*ours.curves, *map(moved.curve, imported.curves)])),
        sessions=[*ours.sessions, *moved.sessions],
        launches=[*ours.launches, *itertools.chain.from_iterable(moved.launches.values())],
        observed=[*ours.observed, *relaunched(imported.observed, moved.launches, moved.case)],
        gaps=[*ours.gaps, *relaunched(imported.gaps, moved.launches, moved.case)],
    )


class _Moved:
    """The sessions, launches and paths of imported figures in a study."""

    def __init__(
        self, study: Study, imported: Sequence[Observations], wanted: Mapping[str, str | None]
    ) -> None:
        self._study = study
        ours = study.observations
        first = 1 + max((session.number for session in ours.sessions), default=-1)
        self.sessions = [
            replace(session, number=first + session.number)
            for part in imported
            for session in part.sessions
        ]
        self.launches: dict[int, list[Launch]] = {}  # by their numbers among what was imported
        # By the names of files: the number of figures between ends of no path, and the tables that
        # do not fit.
        self._lost: Counter[str] = Counter()
        self._unfit: dict[str, list[str]] = defaultdict(list)
        number = 1 + max((launch.number for launch in ours.launches), default=-1)
        for part in imported:
            _check_machine(study, part)
            paths = {path.place: path for path in part.paths}
            for launch in part.launches:
                targets = self._paths(launch, paths[launch.place], wanted[launch.who.library])
                self.launches[launch.number] = [
                    replace(
                        launch,
                        number=number + offset,
                        block=Block(first + launch.block.session, launch.block.number),
                        place=path.place,
                        curves=tuple(map(self.curve, launch.curves)),
                    )
                    for offset, path in enumerate(targets)
                ]
                number += len(targets)
            self._check_fitting(part, wanted)
        if not any(self.launches.values()):
            raise UserError(
                f"{study.folder} has no path between the ends that {' and '.join(wanted)} measured:"
                f" {study.path_ids}"
            )

    def library(self, library: Library) -> Library:
        """The library, with notes on its figures that are left out."""
        name = library.who.library
        notes = [*library.notes]
        if lost := self._lost[name]:
            notes.append(
                f"Left out: {count(lost, 'figure')} between ends of which the study has no path."
            )
        if unfit := list(dict.fromkeys(self._unfit[name])):
            notes.append(f"Left out, as they do not fit the path: tables of {', '.join(unfit)}.")
        return replace(library, notes=tuple(notes))

    def curve(self, curve: Curve) -> Curve:
        """The curve with the axes of the study's first one like it, except its own axes."""
        for other in self._study.observations.curves:
            same = (other.benchmark, other.metric) == (curve.benchmark, curve.metric)
            memories = ceiling_buffers(other.buffers) == ceiling_buffers(curve.buffers)
            if same and memories and staging(other.axes) is None:
                axes = {name: curve.axes.get(name, value) for name, value in other.axes.items()}
                return msgspec.structs.replace(curve, axes=Axes(axes))
        return curve

    def case(self, case: Case) -> Case:
        """The same for one of its points."""
        return self.curve(case.curve).at(case.x)

    def _paths(self, launch: Launch, path: DataPath, wanted: str | None) -> list[DataPath]:
        ours, folder = self._study.observations, self._study.folder
        name, buffers = launch.who.library, launch.curves[0].buffers
        if any(end.gpu for end in path.ends):
            gpus = _on(ours.machine, path)
            between = [other for other in ours.paths if gpus and _is_between(other, gpus)]
            self._lost[name] += not between
            return between
        ids = [other.id for other in ours.paths]
        if wanted is not None and wanted not in ids:
            raise UserError(f"{folder} has no path {wanted!r}{closest(wanted, ids)}")
        among = [other for other in ours.paths if wanted in (None, other.id)]
        fitting = [other for other in among if _fits(other, path, buffers)]
        if not fitting:
            self._unfit[name].append(_description(path, buffers))
        if len(fitting) > 1:
            several = ", ".join(repr(other.id) for other in fitting)
            raise UserError(
                f"on which path {name} was measured nobody says: give --path, of {several}"
            )
        return fitting

    def _check_fitting(self, part: Observations, wanted: Mapping[str, str | None]) -> None:
        """UserError where nothing of a file fits: of several tables some may be left out."""
        [name] = {library.who.library for library in part.libraries}
        if not self._unfit[name] or any(self.launches[launch.number] for launch in part.launches):
            return
        path = f"does not fit {wanted[name]!r}" if wanted[name] else "fits no path"
        raise UserError(f"{name} {path} of {self._study.folder}: it is of {self._unfit[name][-1]}")


def _description(path: DataPath, buffers: str) -> str:
    ranks = "an unknown number of" if path.id == SOME_RANKS else str(len(path.ends))
    return f"{ranks} ranks with buffers {buffers}"


def _fits(ours: DataPath, path: DataPath, buffers: str) -> bool:
    """True if figures of a path that names only memories can be of one of the study."""
    ranks = path.id == SOME_RANKS or len(path.ends) == len(ours.ends)
    measured = ours.transport != "local" and not ours.ceilings_only
    return ranks and measured and rank_ends(ours, buffers) is not None


def _check_machine(study: Study, part: Observations) -> None:
    """UserError where a file names the addresses of its GPUs and none of them is the study's."""
    ends = [end for path in part.paths for end in path.ends]
    addresses = {end.gpu for end in ends if end.gpu is not None and ":" in end.gpu}
    ours = {gpu.pci for gpu in study.observations.machine.gpus}
    if addresses and not addresses & ours:
        [name] = {library.who.library for library in part.libraries}
        raise UserError(
            f"{name} is of another machine: its GPUs are at {', '.join(sorted(addresses))}; those"
            f" of {study.folder}: {', '.join(sorted(ours)) or 'none'}"
        )


def _on(machine: Machine, path: DataPath) -> list[Gpu | None] | None:
    """The study's GPUs at the ends of a path that names its own; None for the host's memory.

    None where its machine lacks one, or may not use it.
    """
    gpus: dict[str | None, Gpu | None] = {None: None}
    for gpu in machine.gpus:
        gpus |= {gpu.pci: gpu, str(gpu.index): gpu}
    ends = [end.gpu for end in path.ends]
    return [gpus[end] for end in ends] if gpus.keys() >= {*ends} else None


def _is_between(ours: DataPath, gpus: list[Gpu | None]) -> bool:
    """True if a path of the study is between these, in this order, on one host; for host memory,
    the path that is near to the GPU."""
    if ours.transport != "memory" or ours.mps or ours.between_hosts or ours.ceilings_only:
        return False
    if [end.gpu for end in ours.ends] != [gpu.uuid if gpu else None for gpu in gpus]:
        return False
    nodes = {gpu.numa_node for gpu in gpus if gpu and gpu.numa_node is not None}
    return all(
        gpu or not nodes or end.numa_node in nodes for end, gpu in zip(ours.ends, gpus, strict=True)
    )
