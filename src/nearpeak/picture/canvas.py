# SPDX-License-Identifier: Apache-2.0
"""The canvas of a machine's drawing: boxes with text in them, links, and pills."""

from collections.abc import Sequence
from math import log10

from nearpeak.machine.machine import Machine
from nearpeak.picture.measured import Measured
from nearpeak.picture.packages import of_packages, packages_of
from nearpeak.picture.parts import by_spot
from nearpeak.picture.shapes import (
    LINE,
    PILL,
    SIZE,
    Box,
    Line,
    Picture,
    Pill,
    Text,
    first_fit,
    shortened,
    text_width,
)

WIDE, NARROW = 720.0, 352.0  # the two widths that a page chooses from: a screen or paper, a phone
GAP = 4.0  # between boxes of a kind
PAD = 5.0  # inside a box
LONG_PILL = 52.0  # with the percentage beside the letter
BOTH_WAYS = 24.0  # more for the percentage of the other direction


class Canvas:
    """A drawing under way: the machine, what was measured, and what has been placed so far."""

    def __init__(
        self, machine: Machine, rows: Sequence[Measured], width: float, notes: Sequence[str] = ()
    ) -> None:
        self.machine = of_packages(machine)
        # The partitions of each GPU, by the index as which it is drawn; of a whole one only itself.
        self.partitions = {package[0].index: package for package in packages_of(machine)}
        self.notes = notes  # sentences below the measured rows
        self.rows = list(rows)
        self.rows_at = by_spot(machine, self.rows)
        self.kinds = {kind for kind, _, _ in self.rows_at}  # of the measured parts and links
        self.width = width
        self.wide = width >= WIDE
        self.picture = Picture(width)
        self.boxes: dict[str, Box] = {}  # by name
        self._rates: dict[str, bool] = {}  # of links, and whether there was room to say them

    def rows_on(self, kind: str, number: int = 0) -> list[Measured]:
        """The measured rows of a part or a link of this kind."""
        return self.rows_at.get((kind, number, 0), [])

    def box(self, box: Box) -> None:
        """Adds a box."""
        self.boxes[box.name] = box
        self.picture.boxes.append(box)

    def say_rate(self, rate: str, text: str, link: str) -> None:
        """Notes whether the text beside a link holds its rate. `link`: which link it is."""
        name = f"{rate} {link}"
        self._rates[name] = self._rates.get(name, False) or rate in text

    @property
    def unsaid(self) -> list[str]:
        """The rates that no text beside a link holds."""
        return [name for name, shown in self._rates.items() if not shown]

    def text(
        self, line: str, x: float, y: float, room: float, anchor: str = "start", style: str = ""
    ) -> None:
        """Adds a line of text, if it is not empty; `y` is its baseline."""
        if line:
            self.picture.texts.append(Text(line, x, y, room, anchor, style))

    def link(
        self,
        points: Sequence[tuple[float, float]],
        rows: Sequence[Measured] = (),
        title: str = "",
        thick: float = 1.2,
        bow: float = 0.0,
    ) -> None:
        """Adds a link in the look of its first measured row, without rows a `thick` one."""
        state = rows[0].worse.state if rows else "plain"
        if rows:
            thick = thickness(rows[0].ceiling or rows[0].value)
        self.picture.lines.append(Line(tuple(points), thick, state, bow, title))

    def filled(self, box: Box, lines: Sequence[str], strong: bool = False, names: int = 1) -> None:
        """Adds a box with lines of text; the first ones are its `names`, maybe `strong`."""
        self.box(box)
        for index, line in enumerate(lines):
            room = box.width - (2 if strong and not index else 2 * PAD)
            heavy = strong and not index and text_width(line, True) <= room
            style = "strong" if heavy else "" if index < names else "muted"
            y = box.y + 4 + SIZE + index * LINE
            self.text(shortened(line, room, heavy), box.middle, y, room, "middle", style)

    def labelled(self, box: Box, rows: Sequence[Measured], choices: Sequence[str]) -> str:
        """Adds a long box with pills at its left and the first text that fits; returns the text."""
        self.box(box)
        pills = len(rows) * ((LONG_PILL if self.wide else PILL) + 3)
        self.pills(rows, box.x + PAD, box.y + (box.height - PILL) / 2, pills)
        space = box.width - 2 * PAD - pills
        label = first_fit(choices, space)
        middle = box.x + PAD + pills + space / 2
        self.text(label, middle, box.y + box.height / 2 + SIZE * 0.36, space, "middle")
        return label

    def pills(
        self, rows: Sequence[Measured], x: float, y: float, room: float, centred: bool = False
    ) -> None:
        """Adds pills in a row: with percentages where there is room, else only the letters."""
        if not rows:
            return
        room_each = (room + 3) / len(rows) - 3
        widths = [_pill_width(row, room_each) for row in rows]
        free = room - sum(widths)
        gap = min(3.0, free / len(rows))
        left = x + (free - gap * (len(rows) - 1)) / 2 if centred else x
        for row, width in zip(rows, widths, strict=True):
            self.pill(row, left + width / 2, y, room_each)
            left += width + gap

    def pill(self, row: Measured, middle: float, y: float, room: float = PILL) -> None:
        """Adds one pill."""
        width, worse = _pill_width(row, room), row.worse
        label = row.letter if width == PILL else row.badge
        shape = middle - width / 2, y, width, label, worse.fraction, worse.state
        self.picture.pills.append(Pill(*shape, row.sentences, worse.confirmed))


def thickness(gbs: float | None) -> float:
    """The width of a measured link, by the logarithm of its rate."""
    return 2.5 if gbs is None else min(8.0, max(2.0, 2.0 + 2.0 * log10(max(gbs, 1.0) / 10)))


def _pill_width(row: Measured, room: float) -> float:
    both = row.back is not None and row.back.fraction is not None
    width = LONG_PILL + BOTH_WAYS * both
    return width if row.fraction is not None and room >= width else PILL
