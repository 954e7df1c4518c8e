# SPDX-License-Identifier: Apache-2.0
"""The sockets: frames with their NUMA nodes in them, the cores above and the memory below."""

from itertools import pairwise
from math import ceil

from nearpeak.machine.machine import NumaNode
from nearpeak.machine.tree import format_list
from nearpeak.numbers import count, noun
from nearpeak.picture.canvas import GAP, LONG_PILL, PAD, Canvas
from nearpeak.picture.parts import Socket, Span, columns_of, memory_words
from nearpeak.picture.shapes import (
    LINE,
    PILL,
    SIZE,
    Box,
    first_fit,
    glued,
    joined,
    text_width,
    wrapped,
)

LEAST = 35.0  # the width of a NUMA node's box: a short name fits
SHELF = PILL + 6  # the height of a node's memory


def spans_of(canvas: Canvas, row: list[Socket], alone: bool) -> list[Span]:
    """The spans of the sockets of a row; one that is `alone` is drawn as small as it is."""
    between = 36.0 if canvas.wide else 22.0
    if canvas.rows_on("sockets"):
        between = LONG_PILL + 24 if canvas.wide else PILL + 8
    width = (canvas.width - between * (len(row) - 1)) / len(row)
    if alone:
        width = min(width, max(480.0, 180.0 * len(row[0].nodes), 88.0 * len(row[0].gpus)))
    left = (canvas.width - width * len(row) - between * (len(row) - 1)) / 2
    return [(left + index * (width + between), width) for index in range(len(row))]


def frame_height(canvas: Canvas, socket: Socket, width: float) -> float:
    """The height of a socket with all its nodes."""
    rows = ceil(len(socket.nodes) / _columns(socket, width))
    nodes = rows * (_node_height(canvas, socket, width) + GAP)
    return _header_height(canvas, socket, width) + nodes + PAD - GAP


def add_frame(canvas: Canvas, socket: Socket, span: Span, y: float, height: float) -> None:
    """Adds a socket, with pills for the rows between its nodes and inside them."""
    x, width = span
    canvas.box(Box("socket", socket.frame, x, y, width, height))
    lines = _header(canvas, socket, width)
    for index, line in enumerate(lines):
        canvas.text(line, x + PAD, y + 4 + SIZE + index * LINE, width - 2 * PAD)
    below = y + _header_height(canvas, socket, width)
    inside = canvas.rows_on("inside", socket.number)
    canvas.pills(inside, x + PAD, below - PILL - 4, width - 2 * PAD)
    columns = _columns(socket, width)
    node_width, high = _node_width(socket, width), _node_height(canvas, socket, width)
    for index, node in enumerate(socket.nodes):
        left, down = index % columns * (node_width + GAP), index // columns * (high + GAP)
        name = f"node {node.index}"
        box = Box("node", name, x + PAD + left, below + down, node_width, high, _cpus(node))
        _add_node(canvas, socket, node, box)


def add_between(canvas: Canvas, spans: list[Span], y: float) -> None:
    """Adds the links between the sockets of a row at `y`; the rows are those of any pair.

    What joins more than two is not known: without rows they have none.
    """
    rows = canvas.rows_on("sockets")
    if not rows and len(spans) > 2:
        return
    for (x, width), (after, _) in pairwise(spans):
        canvas.link(((x + width, y), (after, y)), rows, title="between the sockets")
    if len(spans) > 1:
        (x, width), (after, _) = spans[:2]
        top = y - len(rows) * (PILL + 3) / 2 + 1.5
        for index, row in enumerate(rows):
            canvas.pill(row, (x + width + after) / 2, top + index * (PILL + 3), after - x - width)


def _header(canvas: Canvas, socket: Socket, width: float) -> list[str]:
    if not socket.nodes:
        return wrapped("At a NUMA node that is not known", width - 2 * PAD)
    cores = glued(count(socket.cores, "core"))
    numbers = joined(socket.packages) or "not known"
    which = f"{noun(len(socket.packages), 'Socket')} {numbers}"
    packages = {core.package for core in canvas.machine.cores}
    if packages == {socket.number} != {0}:
        which = "Socket"  # the only one, whose number in the firmware says nothing
    memory = memory_words(canvas.machine, socket.memory_bytes)
    text = ", ".join(filter(None, [f"{which}: {cores}", memory]))
    if len(socket.nodes) > 1:
        text += f", NUMA nodes {glued(joined([node.index for node in socket.nodes]))}"
    return wrapped(text, width - 2 * PAD)


def _header_height(canvas: Canvas, socket: Socket, width: float) -> float:
    inside = "inside" in canvas.kinds  # in any socket: all are alike
    return 8 + len(_header(canvas, socket, width)) * LINE + (PILL + 4) * inside


def _columns(socket: Socket, width: float) -> int:
    return min(columns_of(width - 2 * PAD, LEAST, GAP), max(1, len(socket.nodes)))


def _node_width(socket: Socket, width: float) -> float:
    columns = _columns(socket, width)
    return (width - 2 * PAD - GAP * (columns - 1)) / columns


def _node_height(canvas: Canvas, socket: Socket, width: float) -> float:
    node_width = _node_width(socket, width)
    lines = max((len(_node_lines(canvas, node, node_width)) for node in socket.nodes), default=0)
    marked = "node" in canvas.kinds  # in any socket: all are alike
    return 8 + lines * LINE + (PILL + 4) * marked + _shelf_height(canvas, socket, node_width)


def _node_lines(canvas: Canvas, node: NumaNode, node_width: float) -> list[str]:
    room = node_width - 2 * PAD
    cores = count(sum(core.numa_node == node.index for core in canvas.machine.cores), "core")
    name = first_fit((f"NUMA node {node.index}", f"node {node.index}", f"{node.index}"), room)
    return [name, cores] if text_width(cores) <= room else [name]


def _shelf_height(canvas: Canvas, socket: Socket, node_width: float) -> float:
    """The height of the memory part of a node: 0 if it would be empty."""
    texts = [_memory_words(canvas, node, node_width) for node in socket.nodes]
    return SHELF if "memory" in canvas.kinds or any(texts) else 0.0


def _memory_words(canvas: Canvas, node: NumaNode, node_width: float) -> str:
    if not node.memory_bytes:
        return ""
    marked = ("memory", node.index, 0) in canvas.rows_at
    size = memory_words(canvas.machine, node.memory_bytes)
    kind = "CXL" if node.memory == "cxl" else "memory"
    choices = (f"{kind} {size}", size) if size else (kind,)
    return first_fit(choices, node_width - 2 * PAD - (PILL + 3) * marked)


def _add_node(canvas: Canvas, socket: Socket, node: NumaNode, box: Box) -> None:
    canvas.filled(box, _node_lines(canvas, node, box.width))
    high = _shelf_height(canvas, socket, box.width)
    shelf = box.bottom - high
    rows = canvas.rows_on("node", node.index)
    canvas.pills(rows, box.x + 1, shelf - PILL - 4, box.width - 2, centred=True)
    if not high:
        return
    canvas.box(Box("memory", f"memory {node.index}", box.x, shelf, box.width, high))
    label, middle = _memory_words(canvas, node, box.width), box.middle
    if rows := canvas.rows_on("memory", node.index):
        gap = 3 if label else 0
        canvas.pill(rows[0], middle - (gap + text_width(label)) / 2, shelf + 3)
        middle += (PILL + gap) / 2
    canvas.text(label, middle, shelf + SIZE + 4.5, text_width(label), "middle", "muted")


def _cpus(node: NumaNode) -> str:
    return f"NUMA node {node.index}, CPUs {format_list(node.cpus) or 'none'}"
