# SPDX-License-Identifier: Apache-2.0
"""The programs that libraries are measured by: built, and what they say that they measure."""

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
from nearpeak.terms.benchmarks import named

TOOLS = Tools(command_line=command_line, mpi_program=build_mpi, native_program=build_native)


@dataclass(frozen=True)
class Programs:
    """What the programs measure, each in its own words; `described`: all of them together."""

    described: Description
    own: Mapping[str | None, Description]  # by mode; None: nearpeak-mpi

    def measure(self, contender: Contender, variant: Variant) -> bool:
        """Whether that of a contender has a variant. What ceilings have, plan.py knows."""
        if is_ceiling(contender.library):
            return True
        benchmark = named(self.described.benchmarks, variant.benchmark)
        defaults = {axis.name: axis.default for axis in benchmark.axes}
        return self.own[mode_of(contender.library)].measures(variant, defaults)


def build_programs(libraries: Sequence[Library], tools: Tools) -> Programs:
    """Those that measure these libraries; UserError when one cannot be built or does not answer."""
    ours = [library for library in libraries if not is_native(library)]
    beside = [library for library in libraries if mode_of(library)]
    own = {
        mode_of(library): describe_library(library, tools)
        for library in [*ours, *beside] or libraries
    }
    # All builds of nearpeak-mpi say the same; its word comes before that of others.
    return Programs(joined(list(own.values())), own)


def describe_library(library: Library, tools: Tools) -> Description:
    """What nearpeak-mpi, built for this library, can measure, or the program in its place."""
    env = {**os.environ, **environment(library)}
    return describe(tools.mpi_program(library), env, mode_of(library))
