# SPDX-License-Identifier: Apache-2.0
"""The kinds of findings: one file each, found by itself; its `KIND` says the rest."""

import functools
import importlib
import pkgutil

from nearpeak.findings.evidence import Kind


@functools.cache
def all_kinds() -> list[Kind]:
    """Every kind, by name."""
    modules = pkgutil.iter_modules(__path__)
    kinds = [importlib.import_module(f"{__name__}.{module.name}").KIND for module in modules]
    return sorted(kinds, key=lambda kind: str(kind.name))
