# SPDX-License-Identifier: Apache-2.0
"""The rules of appraisals, one file each, which is found automatically and defines `RULE`."""

import functools
import importlib
import pkgutil

from nearpeak.appraisal.view import Rule


@functools.cache
def all_rules() -> dict[str, Rule]:
    """Every rule by its name, in the order in which they are said."""
    names = [module.name for module in pkgutil.iter_modules(__path__)]
    rules = {name: importlib.import_module(f"{__name__}.{name}").RULE for name in names}
    return dict(sorted(rules.items(), key=lambda entry: (int(entry[1].order), entry[0])))
