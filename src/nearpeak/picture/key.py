# SPDX-License-Identifier: Apache-2.0
"""The key below the machine: a line for each measured path, with its gauge and its figures."""

from nearpeak.numbers import size
from nearpeak.picture.canvas import Canvas
from nearpeak.picture.measured import Measured, summed
from nearpeak.picture.shapes import LINE, PILL, SIZE, Pill, text_width, wrapped
from nearpeak.terms.ratings import FAIR, GOOD, TIES

INDENT = PILL + 8  # of text beside a letter
GAUGE = 108.0  # the width of a gauge
SHARE = 52.0  # of a percentage
UNCONFIRMED = "unconfirmed"  # dashed: the fraction has no interval
MARK = 28.0  # the width of a pill in the legend
WIDE_GAUGE = 322.0  # where gauges begin in the wide drawing


def add_key(canvas: Canvas) -> None:
    """Adds the lines, in the order of the tables, if anything was measured."""
    rows = summed(canvas.rows)
    if not rows:
        return
    picture = canvas.picture
    picture.height += 10
    sizes = {row.size_bytes for row in rows}
    one_size = f", messages of {size(min(sizes))}" if len(sizes) == 1 else ""
    heading = f"How much of each ceiling the best library reaches: one direction{one_size}"
    picture.say(heading, style="strong")
    picture.height += 4
    before = ""
    for row in rows:
        if row.letter != before:
            shape = 0, picture.height, PILL, row.letter, None, row.state
            letter = Pill(*shape, row.sentence, row.confirmed)
            picture.pills.append(letter)
        before = row.letter
        figures = row.figures if one_size else row.figures_at_size
        (_wide_row if canvas.wide else _narrow_row)(canvas, row, figures)
    _add_legend(canvas, rows)
    for sentence in canvas.notes:
        picture.height += 4
        picture.say(sentence, style="muted")


def _wide_row(canvas: Canvas, row: Measured, figures: str) -> None:
    top, after = canvas.picture.height, WIDE_GAUGE + GAUGE + SHARE + 14
    name_lines = _say(canvas, f"{row.name}: {row.ends}", INDENT, top, WIDE_GAUGE - INDENT - 10)
    _add_gauge(canvas, row, WIDE_GAUGE, top)
    figure_lines = _say(canvas, figures, after, top, canvas.width - after)
    canvas.picture.height = top + max(PILL + 4, max(name_lines, figure_lines) * LINE + 8)


def _narrow_row(canvas: Canvas, row: Measured, figures: str) -> None:
    top, room = canvas.picture.height, canvas.width - INDENT
    y = top + _say(canvas, f"{row.name}: {row.ends}", INDENT, top, room) * LINE + 3
    after = INDENT
    if row.fraction is not None:
        _add_gauge(canvas, row, INDENT, y)
        after += GAUGE + SHARE + 10
        if text_width(figures) > canvas.width - after:
            after, y = INDENT, y + PILL + 1
    lines = _say(canvas, figures, after, y, canvas.width - after)
    canvas.picture.height = y + max(lines * LINE + 4, PILL) + 6


def _say(canvas: Canvas, text: str, x: float, y: float, room: float) -> int:
    """Adds text beside a pill at `y`; returns how many lines it takes."""
    lines = wrapped(text, room)
    for index, line in enumerate(lines):
        canvas.text(line, x, y + SIZE + 1 + index * LINE, room)
    return len(lines)


def _add_gauge(canvas: Canvas, row: Measured, x: float, y: float) -> None:
    if row.fraction is None:
        return
    gauge = Pill(x, y, GAUGE, "", row.fraction, row.state, row.sentence, row.confirmed)
    canvas.picture.pills.append(gauge)
    canvas.text(row.share, x + GAUGE + SHARE, y + SIZE + 1, SHARE, "end", "strong")


def _add_legend(canvas: Canvas, rows: list[Measured]) -> None:
    """Adds the meanings of the gauges' fillings."""
    if all(row.fraction is None for row in rows):
        return
    canvas.picture.height += 4
    near, half = f"{100 * GOOD:.0f} %", f"{100 * FAIR:.0f}"
    entries: list[tuple[str, str, float | None]] = [
        ("near", f"{near} or more", 1.0),
        ("half", f"{half} to {near}", 1.0),
        ("far", f"below {half} %", 1.0),
    ]
    if not all(row.confirmed for row in rows):
        entries.append(("alone", UNCONFIRMED, None))
    x, y = 0.0, canvas.picture.height
    for state, label, filled in entries:
        width = MARK + 6 + text_width(label)
        if x + width > canvas.width:
            x, y = 0.0, y + PILL + 4
        confirmed = label != UNCONFIRMED
        canvas.picture.pills.append(Pill(x, y, MARK, "", filled, state, label, confirmed))
        canvas.text(label, x + MARK + 6, y + SIZE + 1, text_width(label))
        x += width + 14
    if any(row.tied for row in rows):
        if x + text_width(TIES) > canvas.width:
            x, y = 0.0, y + PILL + 4
        canvas.text(TIES, x, y + SIZE + 1, text_width(TIES))
    canvas.picture.height = y + PILL + 2
