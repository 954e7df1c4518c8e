# SPDX-License-Identifier: Apache-2.0
"""What joins the GPUs to each other: a bar below those that are all joined alike, else lines."""

from nearpeak.picture.canvas import PAD, Canvas
from nearpeak.picture.measured import Measured
from nearpeak.picture.parts import LINKS, Fabric, fabrics
from nearpeak.picture.shapes import LINE, PILL, SIZE, Box, first_fit, joined, wrapped

BAR = PILL + 8  # the height of a bar
BEND = 11.0  # how much lower an arc hangs for each GPU that it passes


def add_gpu_links(canvas: Canvas) -> None:
    """The links, below the GPUs."""
    found = fabrics(canvas.machine)
    if len({box.y for box in _gpu_boxes(canvas)}) > 1:
        _add_list(canvas, found)
    else:
        pairs = [fabric for fabric in found if len(fabric.gpus) == 2]
        straight = [pair for pair in pairs if _neighbours(canvas, pair)]
        for fabric in straight:
            _add_straight(canvas, fabric)
        _add_arcs(canvas, [pair for pair in pairs if pair not in straight])
        _add_bars(canvas, [fabric for fabric in found if len(fabric.gpus) > 2])
    canvas.picture.height += 6


def _gpu_boxes(canvas: Canvas) -> list[Box]:
    """From left to right."""
    boxes = [canvas.boxes[f"gpu {gpu.index}"] for gpu in canvas.machine.gpus]
    return sorted(boxes, key=lambda box: (box.y, box.x))


def _rows(canvas: Canvas, fabric: Fabric) -> list[Measured]:
    """What was measured between two of its GPUs."""
    return [
        row
        for (kind, one, other), rows in canvas.at.items()
        if kind == "link" and {one, other} <= set(fabric.gpus)
        for row in rows
    ]


def _outer(canvas: Canvas, fabric: Fabric) -> tuple[Box, Box]:
    """Its GPUs farthest left and right."""
    boxes = sorted((canvas.boxes[f"gpu {gpu}"] for gpu in fabric.gpus), key=lambda box: box.x)
    return boxes[0], boxes[-1]


def _neighbours(canvas: Canvas, fabric: Fabric) -> bool:
    """Whether the two stand side by side with room for a link between them."""
    left, right = _outer(canvas, fabric)
    between = [box for box in _gpu_boxes(canvas) if left.x < box.x < right.x]
    return not between and right.x - left.x - left.width > 2 * PILL


def _add_straight(canvas: Canvas, fabric: Fabric) -> None:
    left, right = _outer(canvas, fabric)
    rows = _rows(canvas, fabric)
    start, room = left.x + left.width, right.x - left.x - left.width
    y, middle = left.y + left.height / 2, start + room / 2
    canvas.link(((start, y), (right.x, y)), rows, fabric.words)
    kind = LINKS.get(fabric.kind, fabric.kind)
    above = first_fit((fabric.words, kind), room - 8)
    rate = "" if above == fabric.words else fabric.words.removeprefix(kind).strip()
    below = first_fit([rate], room - 8)
    canvas.say_rate(fabric.words, f"{kind} {below}" if below else above, "between GPUs")
    offset = PILL / 2 + 5 if rows else 7
    for text, baseline in ((above, y - offset), (below, y + offset + SIZE - 2)):
        if text:
            canvas.text(text, middle, baseline, room - 8, "middle", "muted")
    canvas.pills(rows, start, y - PILL / 2, room, centred=True)


def _add_arcs(canvas: Canvas, pairs: list[Fabric]) -> None:
    """Links that hang below the row of GPUs, the farther apart the lower."""
    if not pairs:
        return
    order = {box.name: at for at, box in enumerate(_gpu_boxes(canvas))}
    ends = {pair: [order[box.name] for box in _outer(canvas, pair)] for pair in pairs}
    ports = _ports(canvas, ends)
    rates = sorted({pair.gbs for pair in pairs if pair.gbs}, reverse=True)
    top = _gpu_boxes(canvas)[0].bottom
    lowest = top
    for pair, (first, last) in sorted(ends.items(), key=lambda item: item[1][0] - item[1][1]):
        rows = _rows(canvas, pair)
        one, other = ports[first, pair], ports[last, pair]
        bow = 16 + BEND * (last - first)
        thick = 1.0 + 1.4 * (len(rates) - 1 - rates.index(pair.gbs)) if pair.gbs else 1.0
        title = f"GPUs {joined(pair.gpus)}: {pair.words}"
        canvas.link(((one, top), (other, top)), rows, title, thick, bow)
        canvas.pills(rows, one, top + bow - PILL / 2, other - one, centred=True)
        lowest = max(lowest, top + bow + (PILL / 2 if rows else 0))
    canvas.picture.height = lowest + 5
    words = ", ".join(dict.fromkeys(LINKS.get(pair.kind, pair.kind) for pair in pairs))
    words += " between GPUs"
    if rates:
        words += f": {', '.join(f'{rate:.3g}' for rate in rates)} GB/s each way"
        words += ", the thicker the faster" if len(rates) > 1 else ""
    for line in wrapped(words, canvas.width):
        canvas.picture.say(line, canvas.width / 2, canvas.width, "middle", "muted")


def _ports(canvas: Canvas, ends: dict[Fabric, list[int]]) -> dict[tuple[int, Fabric], float]:
    """Where each arc begins and ends below its GPUs: no two of one GPU cross."""
    ports = {}
    for at, box in enumerate(_gpu_boxes(canvas)):
        to_left = sorted((end for end in ends if ends[end][1] == at), key=lambda o: -ends[o][0])
        to_right = sorted((end for end in ends if ends[end][0] == at), key=lambda o: -ends[o][1])
        mine = [*to_left, *to_right]
        for port, pair in enumerate(mine):
            ports[at, pair] = box.x + 3 + (port + 0.5) * (box.width - 6) / len(mine)
    return ports


def _add_bars(canvas: Canvas, wholes: list[Fabric]) -> None:
    """All to all, as one bar below its GPUs; bars that would meet stand below each other."""
    top = canvas.picture.height + 14
    reach: list[float] = []  # of the bars at each height, how far to the right
    for fabric in sorted(wholes, key=lambda whole: _outer(canvas, whole)[0].x):
        left, right = _outer(canvas, fabric)
        level = next((at for at, end in enumerate(reach) if end < left.x), len(reach))
        reach[level : level + 1] = [right.x + right.width]
        rows = _rows(canvas, fabric)
        y = top + level * (BAR + 8)
        bar = Box("fabric", f"fabric {left.name} {level}", left.x, y, reach[level] - left.x, BAR)
        for gpu in fabric.gpus:
            own = canvas.boxes[f"gpu {gpu}"]
            here = [
                row
                for (kind, *both), measured in canvas.at.items()
                if kind == "link" and gpu in both
                for row in measured
            ]
            canvas.link(((own.middle, own.bottom), (own.middle, y)), here)
        each = f"{len(fabric.gpus)} GPUs, all to all"
        kind = LINKS.get(fabric.kind, fabric.kind)
        long = f"{each}: {fabric.words}"
        words = canvas.labelled(bar, rows, (f"{long} each way", long, fabric.words, kind))
        canvas.say_rate(fabric.words, words, "between GPUs")
        canvas.picture.height = max(canvas.picture.height, bar.bottom)


def _add_list(canvas: Canvas, found: list[Fabric]) -> None:
    """The links of GPUs that stand in several rows, in words."""
    alike: dict[str, list[Fabric]] = {}
    for fabric in found:
        alike.setdefault(fabric.words, []).append(fabric)
    for words, group in alike.items():
        rows = [row for fabric in group for row in _rows(canvas, fabric)]
        pairs = ", ".join("–".join(map(str, fabric.gpus)) for fabric in group)
        whole = len(group) == 1 and len(group[0].gpus) > 2
        who = f"{len(group[0].gpus)} GPUs, all to all" if whole else f"GPUs {pairs}"
        pills = len(rows) * (PILL + 3)
        lines = wrapped(f"{words}: {who}", canvas.width - 2 * (PAD + pills))
        y = canvas.picture.height + 8
        box = Box("fabric", f"fabric {words}", 0, y, canvas.width, len(lines) * LINE + 10)
        canvas.filled(box, lines)
        for at, row in enumerate(rows):
            canvas.pill(row, PAD + PILL / 2 + at * (PILL + 3), y + 4)
        canvas.picture.height = box.bottom
