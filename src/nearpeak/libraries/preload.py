# SPDX-License-Identifier: Apache-2.0
"""What of Nearpeak's is loaded into the ranks of an application, before its MPI library."""

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from nearpeak.errors import UserError
from nearpeak.libraries import launch
from nearpeak.libraries.build import LAYER, QUERIES, TRACE, build_layer
from nearpeak.libraries.launch import join_paths
from nearpeak.libraries.library import CommandLine, Launch, Library

VARIABLE = "LD_PRELOAD"
LIBRARIES = (LAYER, QUERIES.program)
PASSED_ON = "OMPI_MCA_mca_base_env_list"


SEPARATORS = "[: ]"  # between files, as the loader takes LD_PRELOAD apart, quoted or not


def _named(value: str) -> list[Path]:
    """Splits a value of LD_PRELOAD into its files."""
    return [Path(word) for word in re.split(SEPARATORS, value) if word]


def ours(value: str) -> Path | None:
    """Finds the library of Nearpeak's among those that LD_PRELOAD names; None without one."""
    return next((file for file in _named(value) if file.name in LIBRARIES), None)


def alone(env: Mapping[str, str]) -> dict[str, str]:
    """Drops from settings what the shell preloads beside a library of Nearpeak's."""
    file = ours(env.get(VARIABLE, ""))
    return {**env, VARIABLE: str(file)} if file else dict(env)


def files(env: Mapping[str, str]) -> dict[str, str]:
    """Returns LD_PRELOAD with the name of the library of ours that settings preload, if any."""
    file = ours(env.get(VARIABLE, ""))
    return {VARIABLE: file.name} if file else {}


def is_preloadable(file: Path) -> bool:
    """Returns whether the loader finds a file by its path in LD_PRELOAD."""
    return not re.search(SEPARATORS, str(file))


def before_others(preload: Path, loaded: str | None = None) -> str:
    """The value of LD_PRELOAD with `preload` before what `loaded` names, by default what the shell
    preloads, but behind the library of `nearpeak trace`: that counts the calls of the application,
    and not those of the layer. UserError where the loader would take its path apart."""
    if not is_preloadable(preload):
        raise UserError(
            f"{preload} cannot be preloaded, as its path has a blank or a colon: name another"
            " folder, for the cache by NEARPEAK_CACHE"
        )
    before = os.environ.get(VARIABLE, "") if loaded is None else loaded
    others = _named(before)
    traces = [place for place, file in enumerate(others) if file.name == TRACE]
    start = traces[-1] + 1 if traces and preload.name != TRACE else 0
    return join_paths(*map(str, [*others[:start], preload, *others[start:]]))


def environment(
    library: Library, preload: Path, own: Mapping[str, str], command: Sequence[str] = ()
) -> dict[str, str]:
    """What a command needs besides, so that its ranks load `preload` and see what `own` says."""
    added = {VARIABLE: before_others(preload), **own}
    if library.abi == "openmpi" and "-x" not in command:
        # Its launcher passes to other hosts what it is told to alone: by this or by -x, not both.
        told = os.environ.get(PASSED_ON)
        added[PASSED_ON] = ";".join(dict.fromkeys([*(told.split(";") if told else []), *added]))
    return added


def command_line(library: Library, started: Launch) -> CommandLine:
    """As that of launch.py, with the layer where the library has it: errors as build_layer, too.

    The MPI library then sees host memory alone, and needs nothing of its family's for GPUs.
    """
    if not library.layer:
        return launch.command_line(library, started)
    given = {**started.settings.env, **started.env}
    before = given.get(VARIABLE, os.environ.get(VARIABLE, ""))
    env = {**started.env, VARIABLE: before_others(build_layer(library), before)}
    return launch.command_line(library, msgspec.structs.replace(started, gpu=False, env=env))
