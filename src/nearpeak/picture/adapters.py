# SPDX-License-Identifier: Apache-2.0
"""The network adapters, above their sockets, and the second host above them."""

from nearpeak.grouping import grouped
from nearpeak.machine.machine import Nic
from nearpeak.machine.rails import of_one_port
from nearpeak.picture.canvas import GAP, PAD, Canvas
from nearpeak.picture.parts import Socket, Span, columns_of
from nearpeak.picture.shapes import LINE, PILL, Box, named, text_width, wrapped

LEAST, MOST = 84.0, 190.0  # widths of a box
MOST_NAMES = 4  # of adapters in a box
KINDS = {
    "infiniband": "InfiniBand",
    "ethernet": "Ethernet",
    "slingshot": "Slingshot",
    "efa": "EFA",
}
STEM = 14.0  # of the line down to the socket


def add_second_host(canvas: Canvas) -> None:
    """Adds a bar with the rows between two hosts, if there are any."""
    rows = canvas.rows_on("remote")
    if not rows:
        return
    box = Box("host", "second host", 0, canvas.picture.height, canvas.width, PILL + 8)
    canvas.labelled(box, rows, ("The second host",))
    canvas.picture.height = box.bottom + STEM


def adapters_height(socket: Socket, width: float) -> float:
    """The height of a socket's adapters, with the lines down to the socket."""
    heights = [height + GAP for _, height in _rows(socket, width)]
    return sum(heights) - GAP + STEM if heights else 0


def add_adapters(canvas: Canvas, socket: Socket, span: Span, frame_top: float) -> None:
    """Adds boxes of alike adapters above a socket whose frame begins at `frame_top`."""
    x, width = span
    box_width = _width(socket, width)
    y = frame_top - adapters_height(socket, width)
    for row, height in _rows(socket, width):
        slot = (width + GAP) / _columns(socket, width)
        for column, (nics, lines) in enumerate(row):
            name = " ".join(f"adapter {nic.name}" for nic in nics)
            left = x + column * slot + (slot - GAP - box_width) / 2
            box = Box("adapter", name, left, y, box_width, height)
            canvas.link(((box.middle, box.bottom), (box.middle, frame_top)))
            _to_second_host(canvas, nics, box)
            canvas.filled(box, lines, names=len(_names(nics, box_width)))
        y += height + GAP


def _to_second_host(canvas: Canvas, nics: list[Nic], box: Box) -> None:
    """Adds a line up, if something was measured through one of these adapters."""
    names = {name for nic in nics for name in (nic.name, nic.verbs) if name}
    rows = canvas.rows_on("remote")
    through = [row for row in rows if {row.path.nic, row.path.adapter} & names]
    if through:
        up = canvas.boxes["second host"].bottom
        canvas.link(((box.middle, up), (box.middle, box.y)), through)


Row = list[tuple[list[Nic], list[str]]]  # boxes: the adapters and the lines of text of each


def _rows(socket: Socket, width: float) -> list[tuple[Row, float]]:
    """The rows of boxes, each with its height."""
    boxes = [(nics, _lines(nics, socket, width)) for nics in _groups(socket)]
    columns = _columns(socket, width)
    rows = [boxes[start : start + columns] for start in range(0, len(boxes), columns)]
    return [(row, _row_height(row)) for row in rows]


def _row_height(row: Row) -> float:
    return max(len(lines) for _, lines in row) * LINE + 8


def _columns(socket: Socket, width: float) -> int:
    return min(columns_of(width, LEAST, GAP), max(1, len(_groups(socket))))


def _width(socket: Socket, width: float) -> float:
    return min((width + GAP) / _columns(socket, width) - GAP, MOST)


def _lines(nics: list[Nic], socket: Socket, width: float) -> list[str]:
    """The names of alike adapters, what they are, their rate, and near to which node."""
    room = _width(socket, width) - 2 * PAD
    shared = of_one_port(socket.gpus, nics) == [nics]
    several = " each" if len(nics) > 1 else ""
    sharing = " together" if shared else several
    kind, rate = KINDS.get(nics[0].kind, nics[0].kind), nics[0].rate_gbs
    speed = [f"{rate:.3g} GB/s" + sharing] if rate else []
    facts = [" ".join([kind, *speed])]
    if text_width(facts[0]) > room:
        facts = [kind, *speed]
    bound = nics[0].path_gbs
    facts += [f"PCIe {bound:.3g} GB/s{several * shared}"] if bound and rate and bound < rate else []
    node = nics[0].numa_node
    near = [f"at node {node}"] if node is not None and len(socket.nodes) > 1 else []
    return [*_names(nics, room + 2 * PAD), *facts, *near]


def _names(nics: list[Nic], box_width: float) -> list[str]:
    return wrapped(named([nic.name for nic in nics], MOST_NAMES), box_width - 2 * PAD)


def _groups(socket: Socket) -> list[list[Nic]]:
    """Adapters that are alike and near to the same node."""
    groups = grouped(socket.nics, lambda nic: (nic.numa_node, nic.kind, nic.rate_gbs, nic.path_gbs))
    return list(groups.values())
