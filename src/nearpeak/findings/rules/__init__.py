# SPDX-License-Identifier: Apache-2.0
"""The rules of findings, one file each, which is found automatically and defines `RULE`."""

import functools
import importlib
import pkgutil

from nearpeak.findings.evidence import Rule


@functools.cache
def all_rules() -> list[Rule]:
    """Every rule, by name."""
    modules = pkgutil.iter_modules(__path__)
    rules = [importlib.import_module(f"{__name__}.{module.name}").RULE for module in modules]
    return sorted(rules, key=lambda rule: str(rule.name))
