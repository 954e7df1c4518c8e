# SPDX-License-Identifier: Apache-2.0
"""Builds the programs that measure libraries, and asks them which benchmarks they have."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from nearpeak.launching.command_lines import Tools
from nearpeak.launching.describe import Description, Variant, describe, joined
from nearpeak.libraries.build import build_mpi, build_native
from nearpeak.libraries.families import is_ceiling, is_native, mode_of
from nearpeak.libraries.launch import environment
from nearpeak.libraries.library import Contender, Library
from nearpeak.libraries.preload import command_line

TOOLS = Tools(command_line=command_line, mpi_program=build_mpi, native_program=build_native)


@dataclass(frozen=True)
class Programs:
    """The benchmarks of each program; `described`: those of all programs together."""

    described: Description
    own: Mapping[str | None, Description]  # by mode; None: nearpeak-mpi

    def measure(self, contender: Contender, variant: Variant) -> bool:
        """True if the program of a contender has a variant. plan.py knows the variants of
        ceilings."""
        if is_ceiling(contender.library):
            return True
        benchmark = self.described.benchmark(variant)
        return self.own[mode_of(contender.library)].measures(variant, benchmark.defaults)


def build_programs(libraries: Sequence[Library], tools: Tools) -> Programs:
    """Builds the programs that measure these libraries; UserError when one cannot be built or does
    not answer."""
    ours = [library for library in libraries if not is_native(library)]
    loaded = [library for library in libraries if mode_of(library)]
    by_mode = {
        mode_of(library): describe_library(library, tools)
        for library in [*ours, *loaded] or libraries
    }
    # All builds of nearpeak-mpi describe themselves alike, and come before the others.
    return Programs(joined(list(by_mode.values())), by_mode)


def describe_library(library: Library, tools: Tools) -> Description:
    """Returns the description of nearpeak-mpi built for this library, or of the program that
    replaces it."""
    env = {**os.environ, **environment(library)}
    return describe(tools.mpi_program(library), env, mode_of(library))
