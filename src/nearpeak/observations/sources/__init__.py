# SPDX-License-Identifier: Apache-2.0
"""Where observations come from: one file each, found by itself; its `SOURCE` says the rest."""

import functools
import importlib
import pkgutil

from nearpeak.observations.source import Source


@functools.cache
def all_sources() -> list[Source]:
    """Every source, by name."""
    modules = pkgutil.iter_modules(__path__)
    sources = [importlib.import_module(f"{__name__}.{module.name}").SOURCE for module in modules]
    return sorted(sources, key=lambda source: str(source.name))
