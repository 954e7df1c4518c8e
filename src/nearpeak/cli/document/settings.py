# SPDX-License-Identifier: Apache-2.0
"""docs/reference/settings.md, made of libraries/settings.toml."""

from collections.abc import Iterator

from nearpeak.cli.document.beginning import first
from nearpeak.libraries.families import all_families
from nearpeak.libraries.library import Settings
from nearpeak.libraries.settings import QUERIES, family_settings
from nearpeak.markdown import code, codes, table

BEGINNING = """Named settings of each family of libraries, for `--mpi NAME@SETTINGS`. `nearpeak mpi
show NAME` lists those of one library. `default`, which every family has, changes nothing. `QUERIES`
stands for the library that `nearpeak layer --only-queries` loads."""


def page() -> str:
    """The complete page."""
    header = ("Family", "Settings", "Sets", "Effect")
    return first("Named settings", "settings", BEGINNING) + f"\n{table(header, _rows())}"


def _rows() -> Iterator[tuple[str, str, str, str]]:
    for family in sorted(all_families()):
        for name, settings in family_settings(family).items():
            if name != "default":
                yield code(family), code(name), _set(settings), settings.summary


def _set(settings: Settings) -> str:
    variables = [f"{name}={value}" for name, value in settings.env.items()]
    left_out = [f"without {code(name)}" for name in settings.unset]
    assignments = codes([*variables, *settings.flags]).replace(QUERIES, "QUERIES")
    return ", ".join([part for part in (assignments, *left_out) if part])
