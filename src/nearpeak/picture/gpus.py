# SPDX-License-Identifier: Apache-2.0
"""The GPUs, below their sockets, and their links to the NUMA nodes."""

import itertools

from nearpeak.grouping import grouped
from nearpeak.machine.machine import Gpu
from nearpeak.numbers import noun
from nearpeak.picture.canvas import GAP, PAD, Canvas
from nearpeak.picture.measured import Measured
from nearpeak.picture.parts import LINKS, Socket, Span, columns_of, gib, rated
from nearpeak.picture.shapes import LINE, PILL, SIZE, Box, first_fit

LEAST, MOST = 35.0, 200.0  # widths of a box
BRANDS = ("NVIDIA ", "AMD ", "Instinct ", "Tesla ")
TRUNK = 20.0  # of the line from a node to where it divides: a line of text fits beside it
STEP = PILL + 3  # from one line of pills to the next
LEVEL = 5.0  # from one such height to the next


def add_gpus(canvas: Canvas, row: list[Socket], spans: list[Span]) -> None:
    """Adds the GPUs of a row of sockets, at the bottom of the drawing so far."""
    placed = [
        (gpu, place)
        for socket, span in zip(row, spans, strict=True)
        for gpu, place in zip(socket.gpus, _places(len(socket.gpus), *span), strict=True)
    ]
    if not placed:
        canvas.picture.height += 8
        return
    middles = {gpu.index: x + width / 2 for gpu, (x, width, _) in placed}
    top = canvas.picture.height
    levels = [_levels(canvas, socket, middles) for socket in row]
    deepest = max(itertools.chain(*(of_socket.values() for of_socket in levels)))
    pill_rows = max(len(_pill_rows(canvas, gpu, width)) for gpu, (_, width, _) in placed)
    y = top + TRUNK + deepest * LEVEL + max(1, pill_rows) * STEP + 7
    lines = max(len(_lines(canvas, gpu, width)) for gpu, (_, width, _) in placed)
    marked = "gpu" in canvas.kinds
    height = 9 + lines * LINE + (PILL + 4) * marked
    for gpu, (x, width, line) in placed:
        _add_gpu(canvas, gpu, x, y + line * (height + GAP), width, height)
    for socket, (x, width), socket_levels in zip(row, spans, levels, strict=True):
        _add_links(canvas, socket, socket_levels, top, x + width)
    canvas.picture.height = max(canvas.boxes[f"gpu {gpu.index}"].bottom for gpu, _ in placed)


def _places(many: int, x: float, width: float) -> list[tuple[float, float, int]]:
    """The left edge, width and row of each GPU of a socket."""
    columns = min(many, columns_of(width, LEAST, GAP))
    if many <= 2:  # a third each, so that a link between them has room
        gpu_width = min(width / 3, MOST)
        start, step = x + (width - gpu_width * (2 * many - 1)) / 2, 2 * gpu_width
    else:
        step = (width + GAP) / columns
        gpu_width = min(step - GAP, MOST)
        start = x + (step - GAP - gpu_width) / 2
    return [(start + index % columns * step, gpu_width, index // columns) for index in range(many)]


def _lines(canvas: Canvas, gpu: Gpu, width: float) -> list[str]:
    partitions = [partition.index for partition in canvas.partitions[gpu.index]]
    several = len(partitions) > 1
    named = f"{partitions[0]}–{partitions[-1]}" if several else f"{gpu.index}"
    name = first_fit((f"{noun(len(partitions), 'GPU')} {named}", named), width - 2)
    model = gpu.name
    for brand in BRANDS:
        model = model.removeprefix(brand)
    details = [model, gib(gpu.memory_bytes or 0)]
    details += [f"{len(partitions)} partitions"] if several else []
    return [name, *filter(None, (first_fit([detail], width - 2 * PAD) for detail in details))]


def _add_gpu(canvas: Canvas, gpu: Gpu, x: float, y: float, width: float, height: float) -> None:
    box = Box("gpu", f"gpu {gpu.index}", x, y, width, height, f"{gpu.name}, {gpu.pci}")
    canvas.filled(box, _lines(canvas, gpu, width), strong=True)
    rows = canvas.rows_on("gpu", gpu.index)
    canvas.pills(rows, x + 1, box.bottom - PILL - 4, width - 2, centred=True)


def _by_box(socket: Socket) -> dict[str, list[Gpu]]:
    """The GPUs below each box: the one of their NUMA node, or the frame if that is not known."""
    if not socket.nodes:
        return {socket.frame: socket.gpus} if socket.gpus else {}
    by_node = grouped(socket.gpus, lambda gpu: gpu.numa_node)
    order = [node.index for node in socket.nodes]
    return {f"node {index}": by_node[index] for index in order if index in by_node}


def _levels(canvas: Canvas, socket: Socket, middles: dict[int, float]) -> dict[str, int]:
    """The level at which the links of each box divide, so that links of two boxes never overlap."""
    levels: dict[str, int] = {}
    level, reach = 0, float("-inf")
    for name, gpus in _by_box(socket).items():
        points = [canvas.boxes[name].middle, *(middles[gpu.index] for gpu in gpus)]
        level += min(points) <= reach
        reach = max(points)
        levels[name] = level
    return levels


def _add_links(
    canvas: Canvas, socket: Socket, levels: dict[str, int], top: float, right: float
) -> None:
    """Adds the links from each box to its GPUs, and their text where there is room."""
    by_box = _by_box(socket)
    starts = [canvas.boxes[name] for name in by_box]
    ends = [box.middle for box in starts[1:]] + [right] * bool(starts)
    for (name, gpus), start, end in zip(by_box.items(), starts, ends, strict=True):
        tap = top + TRUNK + levels[name] * LEVEL
        for gpu in gpus:
            _add_link(canvas, gpu, start, tap)
        text = rated(gpus[0].host_link, gpus[0].host_gbs)
        short = LINKS.get(gpus[0].host_link, gpus[0].host_link)
        room = end - start.middle - 12
        rate = (f"{text} each way", text) if gpus[0].host_gbs else ()
        label = first_fit((*rate, short), room)
        canvas.say_rate(text, label, "to the host")
        canvas.text(label, start.middle + 6, top + SIZE + 4, room, style="muted")


def _add_link(canvas: Canvas, gpu: Gpu, start: Box, tap: float) -> None:
    box = canvas.boxes[f"gpu {gpu.index}"]
    rows = canvas.rows_on("host link", gpu.index)
    points = [(start.middle, start.bottom), (start.middle, tap), (box.middle, tap)]
    title = f"GPU {gpu.index}: {rated(gpu.host_link, gpu.host_gbs)}, theoretical"
    canvas.link([*points, (box.middle, box.y)], rows, title)
    for number, line in enumerate(_pill_rows(canvas, gpu, box.width)):
        canvas.pills(line, box.x, tap + 4 + number * STEP, box.width, centred=True)


def _pill_rows(canvas: Canvas, gpu: Gpu, width: float) -> list[list[Measured]]:
    """The measured rows of a GPU's link to the host, in lines of pills that fit above its box."""
    rows = canvas.rows_on("host link", gpu.index)
    columns = columns_of(width, PILL, STEP - PILL)
    return [rows[start : start + columns] for start in range(0, len(rows), columns)]
