# SPDX-License-Identifier: Apache-2.0
"""Where observations come from: a study, and one file for each tool, whose `TOOL` says the rest."""

import functools
import importlib
import pkgutil

from nearpeak.observations.source import Tool


@functools.cache
def all_tools() -> list[Tool]:
    """Every tool, by name."""
    modules = [
        importlib.import_module(f"{__name__}.{each.name}")
        for each in pkgutil.iter_modules(__path__)
    ]
    return sorted(
        (each.TOOL for each in modules if hasattr(each, "TOOL")), key=lambda tool: str(tool.name)
    )
