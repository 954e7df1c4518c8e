# SPDX-License-Identifier: Apache-2.0
"""The sockets: frames with their NUMA nodes in them, the cores above and the memory below."""

from itertools import pairwise
from math import ceil

from nearpeak.machine.machine import NumaNode
from nearpeak.machine.tree import format_list
from nearpeak.numbers import count
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
    """Where the sockets of a row stand; one that is `alone` is drawn as small as it is."""
    between = 36.0 if canvas.wide else 22.0
    if canvas.at.get(("sockets", 0, 0)):
        between = LONG_PILL + 24 if canvas.wide else PILL + 8
    width = (canvas.width - between * (len(row) - 1)) / len(row)
    if alone:
        width = min(width, max(480.0, 180.0 * len(row[0].nodes), 88.0 * len(row[0].gpus)))
    left = (canvas.width - width * len(row) - between * (len(row) - 1)) / 2
    return [(left + at * (width + between), width) for at in range(len(row))]


def frame_height(canvas: Canvas, socket: Socket, width: float) -> float:
    """What a socket takes with all its nodes."""
    rows = ceil(len(socket.nodes) / _columns(socket, width))
    nodes = rows * (_node_height(canvas, socket, width) + GAP)
    return _header_height(canvas, socket, width) + nodes + PAD - GAP


def add_frame(canvas: Canvas, socket: Socket, span: Span, y: float, height: float) -> None:
    """A socket, with pills for what was measured between its nodes and inside them."""
    x, width = span
    canvas.box(Box("socket", socket.frame, x, y, width, height))
    lines = _header(canvas, socket, width)
    for at, words in enumerate(lines):
        canvas.text(words, x + PAD, y + 4 + SIZE + at * LINE, width - 2 * PAD)
    below = y + _header_height(canvas, socket, width)
    inside = canvas.at.get(("inside", socket.number, 0), [])
    canvas.pills(inside, x + PAD, below - PILL - 4, width - 2 * PAD)
    columns = _columns(socket, width)
    own, high = _node_width(socket, width), _node_height(canvas, socket, width)
    for at, node in enumerate(socket.nodes):
        left, down = at % columns * (own + GAP), at // columns * (high + GAP)
        name = f"node {node.index}"
        box = Box("node", name, x + PAD + left, below + down, own, high, _cpus(node))
        _add_node(canvas, socket, node, box)


def add_between(canvas: Canvas, spans: list[Span], y: float) -> None:
    """The links between the sockets of a row, at the height `y`: one pair stands for all."""
    rows = canvas.at.get(("sockets", 0, 0), [])
    for (x, width), (after, _) in pairwise(spans):
        canvas.link(((x + width, y), (after, y)), rows, title="between the sockets")
    if len(spans) > 1:
        (x, width), (after, _) = spans[:2]
        top = y - len(rows) * (PILL + 3) / 2 + 1.5
        for at, row in enumerate(rows):
            canvas.pill(row, (x + width + after) / 2, top + at * (PILL + 3), after - x - width)


def _header(canvas: Canvas, socket: Socket, width: float) -> list[str]:
    if not socket.nodes:
        return wrapped("At a NUMA node that is not known", width - 2 * PAD)
    cores = glued(count(socket.cores, "core"))
    name = "Socket" if len(socket.packages) == 1 else "Sockets"
    which = f"{name} {joined(socket.packages)}" if socket.packages else "Sockets not known"
    memory = memory_words(canvas.machine, socket.memory_bytes)
    words = ", ".join(filter(None, [f"{which}: {cores}", memory]))
    if len(socket.nodes) > 1:
        words += f", NUMA nodes {glued(joined([node.index for node in socket.nodes]))}"
    return wrapped(words, width - 2 * PAD)


def _header_height(canvas: Canvas, socket: Socket, width: float) -> float:
    inside = any(kind == "inside" for kind, _, _ in canvas.at)  # in any socket: all are alike
    return 8 + len(_header(canvas, socket, width)) * LINE + (PILL + 4) * inside


def _columns(socket: Socket, width: float) -> int:
    return min(columns_of(width - 2 * PAD, LEAST, GAP), max(1, len(socket.nodes)))


def _node_width(socket: Socket, width: float) -> float:
    columns = _columns(socket, width)
    return (width - 2 * PAD - GAP * (columns - 1)) / columns


def _node_height(canvas: Canvas, socket: Socket, width: float) -> float:
    own = _node_width(socket, width)
    lines = max((len(_node_lines(canvas, node, own)) for node in socket.nodes), default=0)
    marked = any(kind == "node" for kind, _, _ in canvas.at)  # in any socket: all are alike
    return 8 + lines * LINE + (PILL + 4) * marked + _shelf_height(canvas, socket, own)


def _node_lines(canvas: Canvas, node: NumaNode, own: float) -> list[str]:
    room = own - 2 * PAD
    cores = count(sum(core.numa_node == node.index for core in canvas.machine.cores), "core")
    name = first_fit((f"NUMA node {node.index}", f"node {node.index}", f"{node.index}"), room)
    return [name, cores] if text_width(cores) <= room else [name]


def _shelf_height(canvas: Canvas, socket: Socket, own: float) -> float:
    """Of the part of a node that is its memory: nothing where there is nothing to say in it."""
    marked = any(kind == "memory" for kind, _, _ in canvas.at)
    said = any(_memory_words(canvas, node, own) for node in socket.nodes)
    return SHELF if marked or said else 0.0


def _memory_words(canvas: Canvas, node: NumaNode, own: float) -> str:
    if not node.memory_bytes:
        return ""
    marked = ("memory", node.index, 0) in canvas.at
    whole = memory_words(canvas.machine, node.memory_bytes)
    said = (f"memory {whole}", whole) if whole else ("memory",)
    return first_fit(said, own - 2 * PAD - (PILL + 3) * marked)


def _add_node(canvas: Canvas, socket: Socket, node: NumaNode, box: Box) -> None:
    canvas.filled(box, _node_lines(canvas, node, box.width))
    high = _shelf_height(canvas, socket, box.width)
    shelf = box.bottom - high
    rows = canvas.at.get(("node", node.index, 0), [])
    canvas.pills(rows, box.x + 1, shelf - PILL - 4, box.width - 2, centred=True)
    if not high:
        return
    canvas.box(Box("memory", f"memory {node.index}", box.x, shelf, box.width, high))
    words, middle = _memory_words(canvas, node, box.width), box.middle
    if rows := canvas.at.get(("memory", node.index, 0), []):
        gap = 3 if words else 0
        canvas.pill(rows[0], middle - (gap + text_width(words)) / 2, shelf + 3)
        middle += (PILL + gap) / 2
    if words:
        canvas.text(words, middle, shelf + SIZE + 4.5, text_width(words), "middle", "muted")


def _cpus(node: NumaNode) -> str:
    return f"NUMA node {node.index}, CPUs {format_list(node.cpus) or 'none'}"
