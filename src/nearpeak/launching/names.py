# SPDX-License-Identifier: Apache-2.0
"""Names that are mistyped, told before a program is built or asked.

What there is, the programs say (`--describe`). Before they can, a name is refused only if no source
that they are built from spells it; names.txt, which tests hold to what they say, has those that are
suggested in its place.
"""

from importlib import resources

from nearpeak.errors import UserError, closest
from nearpeak.libraries.build import own_benchmarks, sources
from nearpeak.terms.benchmarks import EVERYTHING, FAMILIES, unknown


def known_names() -> list[str]:
    """Nearpeak's own benchmarks."""
    return resources.files("nearpeak.launching").joinpath("names.txt").read_text("utf-8").split()


def check_name(name: str) -> None:
    """UserError as of `named` for what no program will have. Benchmarks of the user's own only a
    program knows."""
    known = known_names()
    if name not in known and not own_benchmarks() and not _is_spelled(name):
        raise unknown(name, known)


def check_family(name: str) -> None:
    """The same of families of benchmarks, or `all`."""
    if name not in (*FAMILIES, EVERYTHING) and not own_benchmarks():
        raise UserError(f"there are no operations {name!r}{closest(name, (*FAMILIES, EVERYTHING))}")


def _is_spelled(name: str) -> bool:
    """Whether a source of the programs has the name in quotes, or a collective operation the one
    whose form beside computation is called so: `ibcast`."""
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
