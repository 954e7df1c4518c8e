# SPDX-License-Identifier: Apache-2.0
"""A library's settings against the best ones of the same library."""

from collections import defaultdict
from collections.abc import Iterator

from nearpeak.findings.evidence import Kind, Seen, View, against, value
from nearpeak.libraries.library import Settings
from nearpeak.results.results import Cell
from nearpeak.terms.identity import Case, Place

LIMIT = 1.5  # times better


def find(view: View) -> Iterator[Seen]:
    """Every cell beside the same with other settings of its library."""
    places: dict[tuple[str, Place, Case], list[Cell]] = defaultdict(list)
    for cell in view.unstaged:
        places[cell.who.library, cell.place, cell.case].append(cell)
    for alternatives in places.values():
        for cell in alternatives:
            for best in alternatives:
                loss = against(cell, best, LIMIT) if best is not cell else None
                if loss is None:
                    continue
                sentence = (
                    f"{cell.who.library}, {cell.place.path}, {view.case(cell)}:"
                    f" {value(loss.better, best)} with the settings {best.who.settings} against"
                    f" {value(loss.own, cell)} with {cell.who.settings}, {loss.text};"
                    f" the difference: {_given(view, best, cell)}."
                )
                yield Seen(cell, loss, view.lost_us(cell, loss), sentence)


def _given(view: View, best: Cell, cell: Cell) -> str:
    one, other = (view.given.get(each.who, Settings()) for each in (best, cell))
    return difference(one, other)


def difference(one: Settings, other: Settings) -> str:
    """What the first settings give that the second do not, and what they leave out."""
    names = [*one.env, *(name for name in other.env if name not in one.env)]
    parts = []
    for name in names:
        if name not in other.env:
            parts.append(f"{name}={one.env[name]}")
        elif name not in one.env:
            parts.append(f"no {name}={other.env[name]}")
        elif one.env[name] != other.env[name]:
            parts.append(f"{name}={one.env[name]} in place of {other.env[name]}")
    if one.flags != other.flags:
        flags = [" ".join(settings.flags) or "none" for settings in (one, other)]
        parts.append(f"flags {flags[0]} in place of {flags[1]}")
    return ", ".join(parts) or "none that the plan knows"


# Settings that nobody has unless they ask for them lose nobody's time: these come last.
KIND = Kind(
    "settings",
    find,
    "Run the library with the faster settings.",
    lambda seen: seen.cell.who.settings != Settings().name,
)
