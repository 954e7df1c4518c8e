# SPDX-License-Identifier: Apache-2.0
"""Nearpeak's libraries that the ranks of an application load before its MPI library."""

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
    """Finds Nearpeak's library among those that LD_PRELOAD names; None without one."""
    return next((file for file in _named(value) if file.name in LIBRARIES), None)


def without_others(env: Mapping[str, str]) -> dict[str, str]:
    """Drops from settings the libraries that the shell preloads in addition to Nearpeak's."""
    file = ours(env.get(VARIABLE, ""))
    return {**env, VARIABLE: str(file)} if file else dict(env)


def files(env: Mapping[str, str]) -> dict[str, str]:
    """Returns LD_PRELOAD with the name of Nearpeak's library that settings preload, if any."""
    file = ours(env.get(VARIABLE, ""))
    return {VARIABLE: file.name} if file else {}


def is_preloadable(file: Path) -> bool:
    """True if the loader finds a file by its path in LD_PRELOAD."""
    return not re.search(SEPARATORS, str(file))


def before_others(preload: Path, loaded: str | None = None) -> str:
    """The value of LD_PRELOAD with `preload` before the files of `loaded`, by default the shell's.

    It stands behind the library of `nearpeak trace`, which counts the calls of the application and
    not those of the layer. UserError where the loader would split its path.
    """
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
    library: Library, preload: Path, variables: Mapping[str, str], command: Sequence[str] = ()
) -> dict[str, str]:
    """The environment in which the ranks of a command load `preload` and have `variables`."""
    added = {VARIABLE: before_others(preload), **variables}
    if library.abi == "openmpi" and "-x" not in command:
        # Its launcher passes only listed variables to other hosts: by this or by -x, not both.
        listed = os.environ.get(PASSED_ON)
        added[PASSED_ON] = ";".join(dict.fromkeys([*(listed.split(";") if listed else []), *added]))
    return added


def command_line(library: Library, started: Launch) -> CommandLine:
    """The command line of launch.py, with the layer where the library has it.

    With the layer the MPI library sees host memory only, and needs no settings of its family for
    GPUs. Errors as launch.command_line and build_layer.
    """
    if not library.layer:
        return launch.command_line(library, started)
    given = {**started.settings.env, **started.env}
    before = given.get(VARIABLE, os.environ.get(VARIABLE, ""))
    env = {**started.env, VARIABLE: before_others(build_layer(library), before)}
    return launch.command_line(library, msgspec.structs.replace(started, gpu=False, env=env))
