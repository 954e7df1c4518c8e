# SPDX-License-Identifier: Apache-2.0
"""The links between GPUs: a bar below those that are all joined alike, else lines."""

import itertools
from collections.abc import Iterator

from nearpeak.grouping import grouped
from nearpeak.picture.canvas import PAD, Canvas
from nearpeak.picture.measured import Measured
from nearpeak.picture.parts import LINKS, Fabric, fabrics
from nearpeak.picture.shapes import LINE, PILL, SIZE, Box, first_fit, joined, wrapped

BAR = PILL + 8  # the height of a bar
STEP = PILL + 6  # from one measured pair above a bar to the next
BEND = 11.0  # how much lower an arc hangs for each GPU that it passes


def add_gpu_links(canvas: Canvas) -> None:
    """Adds the links, below the GPUs."""
    links = fabrics(canvas.machine)
    if len({box.y for box in _gpu_boxes(canvas)}) > 1:
        _add_list(canvas, links)
    else:
        pairs = [fabric for fabric in links if len(fabric.gpus) == 2]
        straight = [pair for pair in pairs if _neighbours(canvas, pair)]
        for fabric in straight:
            _add_straight(canvas, fabric)
        _add_arcs(canvas, [pair for pair in pairs if pair not in straight])
        _add_bars(canvas, [fabric for fabric in links if len(fabric.gpus) > 2])
    canvas.picture.height += 6


def _gpu_boxes(canvas: Canvas) -> list[Box]:
    """The boxes of the GPUs, row by row from left to right."""
    boxes = [canvas.boxes[f"gpu {gpu.index}"] for gpu in canvas.machine.gpus]
    return sorted(boxes, key=lambda box: (box.y, box.x))


def _rows(canvas: Canvas, fabric: Fabric) -> list[Measured]:
    """The rows between two of a fabric's GPUs."""
    return [row for gpus, row in _link_rows(canvas) if gpus <= {*fabric.gpus}]


def _link_rows(canvas: Canvas) -> Iterator[tuple[set[int], Measured]]:
    """The two GPUs of each row between GPUs."""
    for (kind, *gpus), rows in canvas.rows_at.items():
        if kind == "link":
            yield from zip(itertools.repeat({*gpus}), rows)


def _outer(canvas: Canvas, fabric: Fabric) -> tuple[Box, Box]:
    """The boxes of a fabric's GPUs farthest left and right."""
    boxes = sorted((canvas.boxes[f"gpu {gpu}"] for gpu in fabric.gpus), key=lambda box: box.x)
    return boxes[0], boxes[-1]


def _neighbours(canvas: Canvas, fabric: Fabric) -> bool:
    """True if the two GPUs stand side by side with room for a link between them."""
    left, right = _outer(canvas, fabric)
    between = [box for box in _gpu_boxes(canvas) if left.x < box.x < right.x]
    return not between and right.x - left.x - left.width > 2 * PILL


def _add_straight(canvas: Canvas, fabric: Fabric) -> None:
    left, right = _outer(canvas, fabric)
    rows = _rows(canvas, fabric)
    start, room = left.x + left.width, right.x - left.x - left.width
    y, middle = left.y + left.height / 2, start + room / 2
    canvas.link(((start, y), (right.x, y)), rows, fabric.label)
    kind = LINKS.get(fabric.kind, fabric.kind)
    above = first_fit((fabric.label, kind), room - 8)
    rate = "" if above == fabric.label else fabric.label.removeprefix(kind).strip()
    below = first_fit([rate], room - 8)
    canvas.say_rate(fabric.label, f"{kind} {below}" if below else above, "between GPUs")
    offset = PILL / 2 + 5 if rows else 7
    canvas.text(above, middle, y - offset, room - 8, "middle", "muted")
    canvas.text(below, middle, y + offset + SIZE - 2, room - 8, "middle", "muted")
    canvas.pills(rows, start, y - PILL / 2, room, centred=True)


def _add_arcs(canvas: Canvas, pairs: list[Fabric]) -> None:
    """Adds links that hang below the row of GPUs, the farther apart the lower."""
    if not pairs:
        return
    order = {box.name: position for position, box in enumerate(_gpu_boxes(canvas))}
    outer = ((pair, _outer(canvas, pair)) for pair in pairs)
    ends = {pair: (order[left.name], order[right.name]) for pair, (left, right) in outer}
    ports = _ports(canvas, ends)
    rates = sorted({pair.gbs for pair in pairs if pair.gbs}, reverse=True)
    top = _gpu_boxes(canvas)[0].bottom
    lowest = top
    for pair, (first, last) in sorted(ends.items(), key=lambda item: item[1][0] - item[1][1]):
        rows = _rows(canvas, pair)
        start, end = ports[first, pair], ports[last, pair]
        bow = 16 + BEND * (last - first)
        thick = 1.0 + 1.4 * (len(rates) - 1 - rates.index(pair.gbs)) if pair.gbs else 1.0
        title = f"GPUs {joined(pair.gpus)}: {pair.label}"
        canvas.link(((start, top), (end, top)), rows, title, thick, bow)
        canvas.pills(rows, start, top + bow - PILL / 2, end - start, centred=True)
        lowest = max(lowest, top + bow + (PILL / 2 if rows else 0))
    canvas.picture.height = lowest + 5
    canvas.picture.say(_arcs_words(pairs, rates), "middle", "muted")


def _arcs_words(pairs: list[Fabric], rates: list[float]) -> str:
    """`NVLink between GPUs: 100, 50 GB/s each way, the thicker the faster`."""
    kinds = ", ".join(dict.fromkeys(LINKS.get(pair.kind, pair.kind) for pair in pairs))
    speeds = f": {', '.join(f'{rate:.3g}' for rate in rates)} GB/s each way" if rates else ""
    order = ", the thicker the faster" if len(rates) > 1 else ""
    return f"{kinds} between GPUs{speeds}{order}"


def _ports(canvas: Canvas, ends: dict[Fabric, tuple[int, int]]) -> dict[tuple[int, Fabric], float]:
    """The x of both ends of each arc, by GPU: no two arcs of a GPU cross."""
    ports = {}
    # To the left first, and of either side the farthest first.
    ordered = sorted(ends, key=lambda pair: -sum(ends[pair]))
    for position, box in enumerate(_gpu_boxes(canvas)):
        mine = [pair for pair in ordered if position in ends[pair]]
        mine.sort(key=lambda pair: ends[pair].index(position), reverse=True)
        for port, pair in enumerate(mine):
            ports[position, pair] = box.x + 3 + (port + 0.5) * (box.width - 6) / len(mine)
    return ports


def _add_bars(canvas: Canvas, wholes: list[Fabric]) -> None:
    """Adds each fabric as one bar below its GPUs; bars that would meet stand below each other."""
    measured = max((len(_rows(canvas, fabric)) for fabric in wholes), default=0)
    top = canvas.picture.height + 14 + measured * STEP
    reach: list[float] = []  # of the bars at each height, how far to the right
    for fabric in sorted(wholes, key=lambda fabric: _outer(canvas, fabric)[0].x):
        left, right = _outer(canvas, fabric)
        level = next((index for index, end in enumerate(reach) if end < left.x), len(reach))
        reach[level : level + 1] = [right.x + right.width]
        y = top + level * (BAR + 8)
        bar = Box("fabric", f"fabric {left.name} {level}", left.x, y, reach[level] - left.x, BAR)
        for gpu in fabric.gpus:
            box = canvas.boxes[f"gpu {gpu}"]
            canvas.link(((box.middle, box.bottom), (box.middle, y)))
        _add_pairs(canvas, fabric)
        members = f"{len(fabric.gpus)} GPUs, all to all"
        kind = LINKS.get(fabric.kind, fabric.kind)
        long = f"{members}: {fabric.label}"
        rate = () if fabric.gbs is None else (f"{long} each way",)
        label = canvas.labelled(bar, (), (*rate, long, fabric.label, kind))
        canvas.say_rate(fabric.label, label, "between GPUs")
        canvas.picture.height = max(canvas.picture.height, bar.bottom)


def _add_pairs(canvas: Canvas, fabric: Fabric) -> None:
    """Adds the measured pairs of a fabric: a line from GPU to GPU above its bar, with its badge."""
    pairs = [(gpus, row) for gpus, row in _link_rows(canvas) if gpus <= {*fabric.gpus}]
    for index, (gpus, row) in enumerate(pairs):
        boxes = (canvas.boxes[f"gpu {gpu}"] for gpu in gpus)
        left, right = sorted(boxes, key=lambda box: box.x)
        y = left.bottom + 8 + index * STEP + PILL / 2
        ends = (left.middle, left.bottom), (right.middle, right.bottom)
        corners = (left.middle, y), (right.middle, y)
        canvas.link((ends[0], *corners, ends[1]), [row])
        room = right.middle - left.middle
        canvas.pills([row], left.middle, y - PILL / 2, room, centred=True)


def _add_list(canvas: Canvas, links: list[Fabric]) -> None:
    """Adds the links of GPUs that stand in several rows, as text."""
    for label, group in grouped(links, lambda fabric: fabric.label).items():
        rows = [row for fabric in group for row in _rows(canvas, fabric)]
        pairs = ", ".join("–".join(map(str, fabric.gpus)) for fabric in group)
        all_to_all = len(group) == 1 and len(group[0].gpus) > 2
        who = f"{len(group[0].gpus)} GPUs, all to all" if all_to_all else f"GPUs {pairs}"
        pills = len(rows) * (PILL + 3)
        lines = wrapped(f"{label}: {who}", canvas.width - 2 * (PAD + pills))
        y = canvas.picture.height + 8
        box = Box("fabric", f"fabric {label}", 0, y, canvas.width, len(lines) * LINE + 10)
        canvas.filled(box, lines)
        for index, row in enumerate(rows):
            canvas.pill(row, PAD + PILL / 2 + index * (PILL + 3), y + 4)
        canvas.picture.height = box.bottom
