# Every figure in this file is made up: none was measured.
# SPDX-License-Identifier: Apache-2.0
"""Draws all recorded machines into one page, for people to look at.

python tests/picture/gallery.py OUT.html
"""

import sys
from dataclasses import replace
from functools import cache
from html import escape
from pathlib import Path

from nearpeak.machine.machine import Machine
from nearpeak.machine.paths import discover_paths
from nearpeak.machine.sysfs import from_sysfs
from nearpeak.picture import svg
from nearpeak.picture.canvas import NARROW, WIDE
from nearpeak.picture.layout import layout
from nearpeak.picture.measured import Measured, ends_words, is_drawn

MACHINES = Path(__file__).parents[1] / "machines"
NAMES = sorted(file.stem for file in MACHINES.glob("*.txt"))
FRACTIONS = (0.97, 0.62, 0.23)


@cache
def recorded(name: str) -> Machine:
    """A machine of tests/machines."""
    return from_sysfs(MACHINES / f"{name}.txt")


def made_up(machine: Machine, library: str = "openmpi-cuda@dmabuf-off") -> list[Measured]:
    """A row for each path, also of two hosts, as a study of everything would have."""
    paths, _ = discover_paths(machine, ["recorded", "other"])
    letters: dict[str, str] = {}
    rows = []
    for number, path in enumerate(filter(is_drawn, paths)):
        local = path.transport == "local"
        kind = "local" if local else path.id
        ceiling, fraction = 0.8 * (path.theoretical_gbs or 30.0), FRACTIONS[number % 3]
        row = Measured(
            letter=letters.setdefault(kind, chr(ord("A") + len(letters))),
            path=path,
            name=path.id,
            ends=ends_words(machine, path, turned=False),
            size_bytes=1 << 26,
            unit="GB/s",
            ceiling=ceiling,
            who=None if local else library,
            value=None if local else ceiling * fraction,
            fraction=None if local else fraction,
            why="no MPI" if local else "",
        )
        rows.append(row)
        if path.id == "host-gpu near":
            rows.append(replace(row, ends=ends_words(machine, path, turned=True)))
    return rows


STYLE = """body { margin: 2rem; background: var(--bg); color: var(--fg); font-family: var(--sans); }
figure { display: inline-block; vertical-align: top; margin: 1rem; }
figcaption { color: var(--muted); font-size: .875rem; margin-bottom: .5rem; }
"""


def gallery() -> str:
    """The page: of each machine the drawings of a study's page, and the machine alone."""
    parts = [_section(name) for name in NAMES]
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta http-equiv="Content-Security-Policy"'
        " content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        f"<title>Recorded machines</title>\n<style>\n{svg.palette()}{svg.css()}{STYLE}</style>\n"
        "</head>\n<body>\n<h1>Recorded machines</h1>\n<p>Every figure is made up.</p>\n"
        f"{''.join(parts)}</body>\n</html>\n"
    )


def _section(name: str) -> str:
    machine = recorded(name)
    rows = made_up(machine)
    drawn = {
        "wide": layout(machine, rows, WIDE),
        "narrow": layout(machine, rows, NARROW),
        "alone": layout(machine),
    }
    figures = [
        f'<figure style="width: {picture.width:.0f}px"><figcaption>{kind}</figcaption>'
        f"{svg.inline(picture, f'{name}-{kind}')}</figure>\n"
        for kind, picture in drawn.items()
    ]
    return f"<h2>{escape(name)}</h2>\n{''.join(figures)}"


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python tests/picture/gallery.py OUT.html")
    Path(sys.argv[1]).write_text(gallery(), encoding="utf-8")
