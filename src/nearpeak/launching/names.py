# SPDX-License-Identifier: Apache-2.0
"""Rejects mistyped names before a program is built or asked.

The programs list their names (`--describe`). Before they can, a name is refused only if none of
their sources spells it. names.txt holds the names to suggest instead; tests compare it with the
programs.
"""

from importlib import resources

from nearpeak.errors import UserError, closest
from nearpeak.libraries.build import own_benchmarks, sources
from nearpeak.terms.benchmarks import EVERYTHING, FAMILIES, unknown


def known_names() -> list[str]:
    """Nearpeak's own benchmarks."""
    return resources.files("nearpeak.launching").joinpath("names.txt").read_text("utf-8").split()


def check_name(name: str) -> None:
    """UserError as of `named` for a name that no program will have. Only a program knows the user's
    own benchmarks."""
    names = known_names()
    if name not in names and not own_benchmarks() and not _is_spelled(name):
        raise unknown(name, names)


def check_family(name: str) -> None:
    """UserError for a name that is no family of benchmarks, nor `all`."""
    if name not in (*FAMILIES, EVERYTHING) and not own_benchmarks():
        raise UserError(f"there are no operations {name!r}{closest(name, (*FAMILIES, EVERYTHING))}")


def _is_spelled(name: str) -> bool:
    """True if a source of the programs has the name in quotes. The overlapped form of a collective
    operation, like `ibcast`, counts if its source has the plain one."""
    folder = sources()
    for file in folder.rglob("*.cpp"):
        kind = file.relative_to(folder).parts[0]
        if kind == "tests":
            continue
        text = file.read_text("utf-8")
        names = {name, name.removeprefix("i")} if kind == "collective" else {name}
        if any(f'"{word}"' in text for word in names if word):
            return True
    return False
