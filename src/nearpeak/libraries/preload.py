# SPDX-License-Identifier: Apache-2.0
"""What of Nearpeak's is loaded into the ranks of an application, before its MPI library."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from nearpeak.libraries import launch
from nearpeak.libraries.build import LAYER, QUERIES, build_layer
from nearpeak.libraries.launch import join_paths
from nearpeak.libraries.library import CommandLine, Launch, Library

VARIABLE = "LD_PRELOAD"
LIBRARIES = (LAYER, QUERIES.program)
PASSED_ON = "OMPI_MCA_mca_base_env_list"


def files(env: Mapping[str, str]) -> dict[str, str]:
    """Where settings preload a library of Nearpeak's, the variable with the library's name."""
    name = Path(env.get(VARIABLE, "")).name
    return {VARIABLE: name} if name in LIBRARIES else {}


def environment(
    library: Library, preload: Path, own: Mapping[str, str], command: Sequence[str] = ()
) -> dict[str, str]:
    """What a command needs besides, so that its ranks load `preload` and see what `own` says."""
    before = os.environ.get(VARIABLE, "")
    added = {VARIABLE: join_paths(str(preload), before), **own}
    if library.abi == "openmpi" and "-x" not in command:
        # Its launcher passes to other hosts what it is told to alone: by this or by -x, not both.
        told = os.environ.get(PASSED_ON)
        added[PASSED_ON] = ";".join([*([told] if told else []), *added])
    return added


def command_line(library: Library, started: Launch) -> CommandLine:
    """As that of launch.py, with the layer where the library has it: errors as build_layer, too.

    The MPI library then sees host memory alone, and needs nothing of its family's for GPUs.
    """
    if not library.layer:
        return launch.command_line(library, started)
    given = {**started.settings.env, **started.env}
    before = given.get(VARIABLE, os.environ.get(VARIABLE, ""))
    env = {**started.env, VARIABLE: join_paths(str(build_layer(library)), before)}
    return launch.command_line(library, msgspec.structs.replace(started, gpu=False, env=env))
