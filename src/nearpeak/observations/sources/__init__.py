# SPDX-License-Identifier: Apache-2.0
"""Sources of observations: a study, and one file for each tool, whose `TOOL` describes it."""

import functools
import importlib
import pkgutil

from nearpeak.observations.source import Tool


@functools.cache
def all_tools() -> list[Tool]:
    """Every tool, by name."""
    modules = [
        importlib.import_module(f"{__name__}.{entry.name}")
        for entry in pkgutil.iter_modules(__path__)
    ]
    return sorted(
        (module.TOOL for module in modules if hasattr(module, "TOOL")),
        key=lambda tool: str(tool.name),
    )
