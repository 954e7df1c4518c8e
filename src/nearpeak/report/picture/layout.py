# SPDX-License-Identifier: Apache-2.0
"""Where everything stands in the drawing of a machine; svg.py draws it.

From top to bottom: what the machine is, the adapters, the sockets with their NUMA nodes, the GPUs,
the links between these, and a line for each path that was measured.
"""

import re
from collections.abc import Sequence
from itertools import pairwise
from math import ceil, floor, log10

from nearpeak.machine.model import Gpu, Machine, Nic, NumaNode
from nearpeak.numbers import count, number, size
from nearpeak.report.picture import parts
from nearpeak.report.picture.links import HALF, NEAR, Measured, summed
from nearpeak.report.picture.parts import Fabric, Socket, Spot
from nearpeak.report.picture.shapes import (
    LINE,
    PILL,
    SIZE,
    Box,
    Line,
    Picture,
    Pill,
    Text,
    first_fit,
    glued,
    joined,
    shortened,
    text_width,
    wrapped,
)

WIDE, NARROW = 720.0, 360.0  # the two widths that a page chooses from: a screen or paper, a phone
GAP = 4.0
PAD = 5.0  # inside a frame
LEAST = 36.0  # the width of a NUMA node's box or a GPU's, with a short name in it
ADAPTER = 84.0  # of an adapter's
LONG_PILL = 52.0  # with the percentage beside the letter
GIB = 1 << 30


def layout(machine: Machine, rows: Sequence[Measured] = (), width: float = WIDE) -> Picture:
    """The drawing of a machine; `rows`: what was measured, none for the machine alone."""
    return _Drawing(machine, list(rows), width).whole()


def thickness(gbs: float | None) -> float:
    """How thick a measured link is drawn: by the logarithm of its rate."""
    return 2.5 if gbs is None else min(8.0, max(2.0, 2.0 + 2.0 * log10(max(gbs, 1.0) / 10)))


def gib(size_bytes: int) -> str:
    """Memory in GiB or TiB with three digits."""
    whole = size_bytes / GIB
    return glued(f"{number(whole / 1024)} TiB" if whole >= 1024 else f"{number(whole)} GiB")


def processor(model: str) -> str:
    """A processor's name without what is no name: `Intel Xeon Gold 6248`."""
    plain = re.sub(r"\((R|TM)\)|( CPU)? @.*|,.*| Processor$|( \d+-Core)? Processor$", "", model)
    return " ".join(plain.split())


class _Drawing:
    def __init__(self, machine: Machine, rows: list[Measured], width: float) -> None:
        self.machine = machine
        self.rows = rows
        self.wide = width >= WIDE
        self.at: dict[Spot, list[Measured]] = parts.by_spot(machine, rows)
        self.sockets = parts.sockets(machine)
        self.fabrics = parts.fabrics(machine)
        self.unsaid: dict[str, None] = {}  # rates of links that had no room beside them
        self.picture = Picture(width)
        self.boxes: dict[str, Box] = {}

    @property
    def width(self) -> float:
        return self.picture.width

    def whole(self) -> Picture:
        picture = self.picture
        picture.title = f"{self.machine.cpu_model}, {count(len(self.machine.gpus), 'GPU')}"
        picture.description = " ".join(f"{row.sentence}." for row in self.rows)
        self._heading()
        self._remote()
        abreast = min(len(self.sockets), 4 if self.wide else 2)
        for start in range(0, len(self.sockets), max(1, abreast)):
            self._row_of_sockets(self.sockets[start : start + abreast])
        self._between_gpus()
        self._notes()
        self._key()
        picture.height += 2
        return picture

    # What the machine is

    def _heading(self) -> None:
        packages = sum(len(socket.packages) for socket in self.sockets)
        memory = sum(socket.memory_bytes for socket in self.sockets)
        lines = [
            (f"{packages} × " if packages > 1 else "")
            + f"{processor(self.machine.cpu_model)}: "
            + f"{glued(count(len(self.machine.cores), 'core'))}, {gib(memory)}"
        ]
        kinds: dict[tuple[str, int | None, float | None], int] = {}
        for gpu in self.machine.gpus:
            key = (gpu.name, gpu.memory_bytes, gpu.memory_gbs)
            kinds[key] = kinds.get(key, 0) + 1
        for (name, size_bytes, gbs), many in kinds.items():
            facts = [gib(size_bytes)] if size_bytes else []
            facts += [glued(f"{number(gbs)} GB/s")] if gbs else []
            line = f"{many} × {name}" if many > 1 else name
            lines.append(line + (f": {' at '.join(facts)}" if facts else ""))
        for line in lines:
            for words in wrapped(line, self.width, strong=True):
                self.picture.say(words, 0, self.width, style="strong")
        self.picture.height += 8

    def _remote(self) -> None:
        """The second host, above the adapters, with what was measured on the way to it."""
        rows = self.at.get(("remote", 0, 0), [])
        if not rows:
            return
        box = Box("host", "second host", 0, self.picture.height, self.width, PILL + 8)
        self.boxes[box.name] = box
        self._labelled(box, rows, ("The second host",))
        self.picture.height = box.bottom + 12

    # Sockets, with adapters above and GPUs below

    def _row_of_sockets(self, row: list[Socket]) -> None:
        rows = self.at.get(("sockets", 0, 0), [])
        between = (LONG_PILL if self.wide else PILL) + 8 if rows else (36.0 if self.wide else 22.0)
        width = (self.width - between * (len(row) - 1)) / len(row)
        if len(self.sockets) == 1:  # a small machine is drawn small
            width = min(width, max(480.0, 180.0 * len(row[0].nodes), 88.0 * len(row[0].gpus)))
        left = (self.width - width * len(row) - between * (len(row) - 1)) / 2
        spans = [(left + number * (width + between), width) for number in range(len(row))]
        top = self.picture.height
        adapters = max(self._adapters_height(socket, width) for socket in row)
        frames = top + adapters
        height = max(self._frame_height(socket, width) for socket in row)
        if rows:
            height = max(height, len(rows) * (PILL + 3) + 10)
        for socket, (x, _) in zip(row, spans, strict=True):
            self._adapters(socket, x, width, frames)
            self._frame(socket, x, width, frames, height)
        for (x, _), (after, _) in pairwise(spans):
            state, thick = _look(rows)
            y = frames + height / 2
            self.picture.lines.append(
                Line(((x + width, y), (after, y)), thick, state, title="between the sockets")
            )
        if rows and len(row) > 1:
            y = frames + height / 2 - len(rows) * (PILL + 3) / 2 + 1.5
            for one in rows:
                self._pill(one, width + between / 2, y, between)
                y += PILL + 3
        self.picture.height = frames + height
        self._gpus_of(row, spans)

    def _adapters_height(self, socket: Socket, width: float) -> float:
        columns = _columns(width, ADAPTER)
        groups = _groups(socket.nics)
        lines = [self._adapter_lines(nics, socket, width) for nics in groups]
        rows = [lines[start : start + columns] for start in range(0, len(lines), columns)]
        heights = [max(map(len, row)) * LINE + 8 + GAP for row in rows]
        return sum(heights) + (14 if heights else 0)

    def _adapter_lines(self, nics: list[Nic], socket: Socket, width: float) -> list[str]:
        """The names of alike adapters, what they are, their rate, and near to which node."""
        columns = min(_columns(width, ADAPTER), len(_groups(socket.nics)))
        room = min((width - GAP * (columns - 1)) / columns, 190.0) - 2 * PAD
        names = ", ".join(nic.name for nic in nics)
        kind = {"infiniband": "InfiniBand", "ethernet": "Ethernet"}.get(nics[0].kind, nics[0].kind)
        rate = nics[0].rate_gbs
        each = " each" if len(nics) > 1 else ""
        speed = f"{rate:.3g} GB/s{each}" if rate else ""
        facts = [f"{kind} {speed}".strip()]
        if text_width(facts[0]) > room:
            facts = [kind, speed]
        node = nics[0].numa_node
        near = [f"at node {node}"] if node is not None and len(socket.nodes) > 1 else []
        return [*wrapped(names, room), *facts, *near]

    def _adapters(self, socket: Socket, x: float, width: float, frame_top: float) -> None:
        groups = _groups(socket.nics)
        columns = min(_columns(width, ADAPTER), len(groups))
        if not columns:
            return
        slot = (width + GAP) / columns
        own = min(slot - GAP, 190.0)
        y = frame_top - self._adapters_height(socket, width)
        for start in range(0, len(groups), columns):
            row = groups[start : start + columns]
            lines = [self._adapter_lines(nics, socket, width) for nics in row]
            height = max(map(len, lines)) * LINE + 8
            for place, (nics, words) in enumerate(zip(row, lines, strict=True)):
                left = x + place * slot + (slot - GAP - own) / 2
                name = " ".join(f"adapter {nic.name}" for nic in nics)
                box = Box("adapter", name, left, y, own, height)
                self.picture.lines.append(Line(((box.middle, box.bottom), (box.middle, frame_top))))
                self._to_second_host(nics, box)
                self._add(box, words)
            y += height + GAP

    def _to_second_host(self, nics: list[Nic], box: Box) -> None:
        """A line up, where something was measured through one of these adapters."""
        names = {name for nic in nics for name in (nic.name, nic.verbs) if name}
        rows = self.at.get(("remote", 0, 0), [])
        through = [row for row in rows if {row.path.nic, row.path.adapter} & names]
        if through:
            state, thick = _look(through)
            up = (box.middle, self.boxes["second host"].bottom)
            self.picture.lines.append(Line((up, (box.middle, box.y)), thick, state))

    def _frame_height(self, socket: Socket, width: float) -> float:
        columns = _columns(width - 2 * PAD, LEAST)
        rows = ceil(len(socket.nodes) / columns) if columns else 0
        inside = bool(self.at.get(("inside", socket.packages[0], 0)))
        header = len(self._header(socket, width)) * LINE + 6 + (PILL + 3) * inside
        return header + rows * (self._node_height(socket, width) + GAP) + PAD

    def _header(self, socket: Socket, width: float) -> list[str]:
        name = f"Socket {joined(socket.packages)}"
        facts = f"{glued(count(socket.cores, 'core'))}, {gib(socket.memory_bytes)}"
        if len(socket.nodes) > 1:
            facts += f", NUMA nodes {glued(joined([node.index for node in socket.nodes]))}"
        return wrapped(f"{name}: {facts}", width - 2 * PAD)

    def _node_box(self, socket: Socket, width: float) -> float:
        columns = min(_columns(width - 2 * PAD, LEAST), len(socket.nodes))
        return (width - 2 * PAD - GAP * (columns - 1)) / columns

    def _node_lines(self, node: NumaNode, room: float) -> list[str]:
        cores = sum(core.numa_node == node.index for core in self.machine.cores)
        name = first_fit((f"NUMA node {node.index}", f"node {node.index}", f"{node.index}"), room)
        return [name, *filter(None, [first_fit([count(cores, "core")], room)])]

    def _node_height(self, socket: Socket, width: float) -> float:
        room = self._node_box(socket, width) - 2 * PAD
        lines = max(len(self._node_lines(node, room)) for node in socket.nodes)
        nodes = [node for socket in self.sockets for node in socket.nodes]
        marked = any(self.at.get(("node", node.index, 0)) for node in nodes)
        shelf = self._shelf_height(socket, self._node_box(socket, width))
        return 4 + lines * LINE + 4 + (PILL + 4) * marked + shelf

    def _shelf_height(self, socket: Socket, width: float) -> float:
        """Of the part of a node that is its memory: nothing where none has room for its size."""
        said = any(
            self._memory_words(node, width) or self.at.get(("memory", node.index, 0))
            for node in socket.nodes
        )
        return PILL + 6 if said else 0.0

    def _memory_words(self, node: NumaNode, width: float) -> str:
        if not node.memory_bytes:
            return ""
        marked = bool(self.at.get(("memory", node.index, 0)))
        whole = gib(node.memory_bytes)
        return first_fit((f"memory {whole}", whole), width - 2 * PAD - (PILL + 3) * marked)

    def _frame(self, socket: Socket, x: float, width: float, y: float, height: float) -> None:
        frame = Box("socket", f"socket {socket.packages[0]}", x, y, width, height)
        self.picture.boxes.append(frame)
        y += 4
        for words in self._header(socket, width):
            self.picture.texts.append(Text(words, x + PAD, y + SIZE, width - 2 * PAD))
            y += LINE
        y += 2
        if rows := self.at.get(("inside", socket.packages[0], 0), []):
            self._pills(rows, x + PAD, y, width - 2 * PAD)
            y += PILL + 3
        own, high = self._node_box(socket, width), self._node_height(socket, width)
        columns = max(1, floor((width - 2 * PAD + GAP) / (own + GAP) + 1e-6))
        for at, node in enumerate(socket.nodes):
            left, down = x + PAD + at % columns * (own + GAP), at // columns * (high + GAP)
            name = f"node {node.index}"
            self._node(socket, node, Box("node", name, left, y + down, own, high, _cpus(node)))

    def _node(self, socket: Socket, node: NumaNode, box: Box) -> None:
        self.boxes[box.name] = box
        self._add(box, self._node_lines(node, box.width - 2 * PAD))
        high = self._shelf_height(socket, box.width)
        below = box.bottom - high
        if rows := self.at.get(("node", node.index, 0), []):
            self._pills(rows, box.x + 2, below - PILL - 4, box.width - 4, centred=True)
        if not high:
            return
        self.picture.boxes.append(
            Box("memory", f"memory {node.index}", box.x, below, box.width, high)
        )
        words, middle = self._memory_words(node, box.width), box.middle
        if rows := self.at.get(("memory", node.index, 0), []):
            gap = 3 if words else 0
            left = middle - (PILL + gap + text_width(words)) / 2
            self._pill(rows[0], left + PILL / 2, below + 3, PILL)
            middle += (PILL + gap) / 2
        if words:
            room = text_width(words)
            self.picture.texts.append(
                Text(words, middle, below + SIZE + 4.5, room, "middle", "muted")
            )

    # GPUs

    def _gpus_of(self, row: list[Socket], spans: list[tuple[float, float]]) -> None:
        """The GPUs below their sockets, each joined to its NUMA node."""
        if not any(socket.gpus for socket in row):
            self.picture.height += 8
            return
        top = self.picture.height
        levels = max(self._levels(socket, *span) for socket, span in zip(row, spans, strict=True))
        tap = top + 20 + levels * 5
        y = tap + PILL + 10
        height = self._gpu_height([gpu for socket in row for gpu in socket.gpus], spans, row)
        lowest = y
        for socket, (x, width) in zip(row, spans, strict=True):
            boxes = self._places(socket, x, width)
            for gpu, (left, own, line) in zip(socket.gpus, boxes, strict=True):
                down = y + line * (height + GAP)
                self._gpu(gpu, left, down, own, height)
                lowest = max(lowest, down + height)
            self._host_links(socket, x + width, top, y)
        self.picture.height = lowest

    def _places(self, socket: Socket, x: float, width: float) -> list[tuple[float, float, int]]:
        """Of each GPU its left edge, its width, and its row."""
        many = len(socket.gpus)
        columns = min(many, _columns(width, LEAST))
        if not columns:
            return []
        if many <= 2:  # a third each, so that a link between them has room
            own = min(width / 3, 200.0)
            step, start = 2 * own, x + (width - own * (2 * many - 1)) / 2
        else:
            step = (width + GAP) / columns
            own, start = min(step - GAP, 150.0), x
            start += (step - GAP - own) / 2
        return [(start + at % columns * step, own, at // columns) for at in range(many)]

    def _gpu_height(
        self, gpus: list[Gpu], spans: list[tuple[float, float]], row: list[Socket]
    ) -> float:
        lines = 1
        for socket, span in zip(row, spans, strict=True):
            for gpu, (_, own, _) in zip(socket.gpus, self._places(socket, *span), strict=True):
                lines = max(lines, len(self._gpu_lines(gpu, own - 2 * PAD)))
        marked = any(self.at.get(("gpu", gpu.index, 0)) for gpu in gpus)
        return 4 + lines * LINE + 5 + (PILL + 4) * marked

    def _gpu_lines(self, gpu: Gpu, room: float) -> list[str]:
        brand = gpu.name.removeprefix("NVIDIA ").removeprefix("AMD ").removeprefix("Tesla ")
        details = [brand, gib(gpu.memory_bytes) if gpu.memory_bytes else ""]
        name = first_fit((f"GPU {gpu.index}", f"{gpu.index}"), room + 2 * PAD - 2)
        return [name, *filter(None, (first_fit([words], room) for words in details))]

    def _gpu(self, gpu: Gpu, x: float, y: float, width: float, height: float) -> None:
        box = Box("gpu", f"gpu {gpu.index}", x, y, width, height, f"{gpu.name}, {gpu.pci}")
        self.boxes[box.name] = box
        lines = self._gpu_lines(gpu, width - 2 * PAD)
        self._add(box, lines, top=4, strong=True)
        if rows := self.at.get(("gpu", gpu.index, 0), []):
            self._pills(rows, x + 1, box.bottom - PILL - 4, width - 2, centred=True)

    def _ranges(self, socket: Socket, x: float, width: float) -> list[tuple[float, float]]:
        """From where to where the links of each NUMA node reach."""
        middles: dict[int | None, list[float]] = {}
        for gpu, (left, own, _) in zip(socket.gpus, self._places(socket, x, width), strict=True):
            middles.setdefault(gpu.numa_node, []).append(left + own / 2)
        own = self._node_box(socket, width)
        columns = max(1, floor((width - 2 * PAD + GAP) / (own + GAP) + 1e-6))
        found = []
        for at, node in enumerate(socket.nodes):
            if node.index in middles:
                at = x + PAD + at % columns * (own + GAP) + own / 2
                found.append((min(at, *middles[node.index]), max(at, *middles[node.index])))
        return found

    def _levels(self, socket: Socket, x: float, width: float) -> int:
        """How many heights the links to GPUs take so that none lies upon another."""
        ranges = self._ranges(socket, x, width)
        return sum(before[1] >= after[0] for before, after in pairwise(ranges))

    def _host_links(self, socket: Socket, right: float, top: float, gpus_top: float) -> None:
        by_node: dict[int, list[Gpu]] = {}
        for gpu in socket.gpus:
            home = gpu.numa_node if f"node {gpu.numa_node}" in self.boxes else None
            by_node.setdefault(socket.nodes[0].index if home is None else home, []).append(gpu)
        nodes = [node.index for node in socket.nodes if node.index in by_node]
        starts = [self.boxes[f"node {node}"].middle for node in nodes]
        level, reach = 0, float("-inf")
        for node, start, until in zip(nodes, starts, [*starts[1:], right], strict=True):
            middles = [self.boxes[f"gpu {gpu.index}"].middle for gpu in by_node[node]]
            if min(start, *middles) <= reach:
                level += 1
            reach = max(start, *middles)
            tap = top + 20 + level * 5
            for gpu in by_node[node]:
                rows = self.at.get(("host link", gpu.index, 0), [])
                state, thick = _look(rows)
                box = self.boxes[f"gpu {gpu.index}"]
                x = box.middle
                title = f"GPU {gpu.index}: {parts.rated(gpu.host_link, gpu.host_gbs)}, theoretical"
                points = ((start, self.boxes[f"node {node}"].bottom), (start, tap), (x, tap))
                self.picture.lines.append(Line((*points, (x, box.y)), thick, state, title=title))
                for one in rows[:1]:
                    self._pill(one, x, tap + 4, box.width)
                self._beside(rows[1:], x, tap + 4, box.width)
            first = by_node[node][0]
            rated = parts.rated(first.host_link, first.host_gbs)
            short = parts.LINKS.get(first.host_link, first.host_link)
            words = first_fit((f"{rated} each way", rated, short), until - start - 12)
            if rated not in words:
                self.unsaid[f"{rated} to the host"] = None
            if words:
                self.picture.texts.append(
                    Text(words, start + 6, top + SIZE + 4, until - start - 12, style="muted")
                )
        assert gpus_top >= top + 20 + level * 5  # room was left for them

    def _beside(self, rows: list[Measured], x: float, y: float, room: float) -> None:
        """Further pills of a link, to the right of the first."""
        for at, row in enumerate(rows, start=1):
            self._pill(row, x + at * (PILL + 3), y, min(room, PILL))

    # Links between GPUs

    def _between_gpus(self) -> None:
        if not self.fabrics:
            self.picture.height += 6
            return
        if len({self.boxes[f"gpu {gpu.index}"].y for gpu in self.machine.gpus}) > 1:
            self._listed(self.fabrics)
            return
        wholes = [one for one in self.fabrics if len(one.gpus) > 2]
        pairs = [one for one in self.fabrics if len(one.gpus) == 2]
        straight = [one for one in pairs if self._neighbours(one)]
        for one in straight:
            self._straight(one)
        self._arcs([one for one in pairs if one not in straight])
        self._buses(wholes)
        self.picture.height += 6

    def _of(self, fabric: Fabric) -> list[Measured]:
        return [
            row
            for (kind, one, other), rows in self.at.items()
            if kind == "link" and {one, other} <= set(fabric.gpus)
            for row in rows
        ]

    def _ends(self, fabric: Fabric) -> tuple[Box, Box]:
        boxes = sorted((self.boxes[f"gpu {index}"] for index in fabric.gpus), key=lambda b: b.x)
        return boxes[0], boxes[-1]

    def _neighbours(self, fabric: Fabric) -> bool:
        """Whether the two stand side by side with room for a link between them."""
        left, right = self._ends(fabric)
        free = right.x - left.x - left.width
        others = [box for name, box in self.boxes.items() if name.startswith("gpu")]
        return free > 2 * PILL and not any(left.x < box.x < right.x for box in others)

    def _straight(self, fabric: Fabric) -> None:
        left, right = self._ends(fabric)
        rows = self._of(fabric)
        state, thick = _look(rows)
        start, room = left.x + left.width, right.x - left.x - left.width
        y, middle = left.y + left.height / 2, start + room / 2
        self.picture.lines.append(
            Line(((start, y), (right.x, y)), thick, state, title=fabric.words)
        )
        words = fabric.words
        above, below = words, ""
        if text_width(words) > room - 8:
            kind = parts.LINKS.get(fabric.kind, fabric.kind)
            above = first_fit([kind], room - 4)
            below = first_fit([words.removeprefix(kind).strip()], room - 4)
            if not below:
                self.unsaid[f"{words} between GPUs"] = None
        offset = PILL / 2 + 5 if rows else 7
        for text, baseline in ((above, y - offset), (below, y + offset + SIZE - 2)):
            if text:
                self.picture.texts.append(Text(text, middle, baseline, room - 4, "middle", "muted"))
        for at, row in enumerate(rows):
            self._pill(row, middle + at * (LONG_PILL + 3), y - PILL / 2, room)

    def _arcs(self, pairs: list[Fabric]) -> None:
        """Links that hang below the row of GPUs, the farther apart the lower."""
        if not pairs:
            return
        row = sorted((b for n, b in self.boxes.items() if n.startswith("gpu")), key=lambda b: b.x)
        place = {box.name: at for at, box in enumerate(row)}
        ends = {pair: [place[box.name] for box in self._ends(pair)] for pair in pairs}
        ports: dict[tuple[int, Fabric], float] = {}
        for at, box in enumerate(row):
            left = sorted((p for p in pairs if ends[p][1] == at), key=lambda p: -ends[p][0])
            right = sorted((p for p in pairs if ends[p][0] == at), key=lambda p: -ends[p][1])
            mine = [*left, *right]
            for port, pair in enumerate(mine):
                step = (box.width - 6) / len(mine)
                ports[at, pair] = box.x + 3 + (port + 0.5) * step
        top = row[0].bottom
        rates = sorted({pair.gbs for pair in pairs if pair.gbs}, reverse=True)
        deepest = 0.0
        for pair in sorted(pairs, key=lambda p: ends[p][0] - ends[p][1]):
            rows = self._of(pair)
            one, other = ports[ends[pair][0], pair], ports[ends[pair][1], pair]
            bow = 16 + 11.0 * (ends[pair][1] - ends[pair][0])
            state, thick = _look(rows)
            if not rows and pair.gbs in rates:
                thick = 1.0 + 1.4 * (len(rates) - 1 - rates.index(pair.gbs))
            title = f"GPUs {joined(pair.gpus)}: {pair.words}"
            self.picture.lines.append(Line(((one, top), (other, top)), thick, state, bow, title))
            deepest = max(deepest, bow)
            for at, measured in enumerate(rows):
                self._pill(measured, (one + other) / 2 + at * (PILL + 3), top + bow - 9, PILL)
        self.picture.height = top + deepest + (PILL / 2 if any(map(self._of, pairs)) else 0) + 4
        kinds = dict.fromkeys(parts.LINKS.get(pair.kind, pair.kind) for pair in pairs)
        if rates:
            classes = ", ".join(f"{rate:.3g}" for rate in rates)
            thicker = ", the thicker the faster" if len(rates) > 1 else ""
            words = f"{', '.join(kinds)} between GPUs: {classes} GB/s each way{thicker}"
        else:
            words = f"{', '.join(kinds)} between GPUs"
        for line in wrapped(words, self.width):
            self.picture.say(line, self.width / 2, self.width, "middle", "muted")

    def _buses(self, wholes: list[Fabric]) -> None:
        """All to all, as one bar below its GPUs; bars that would meet stand below each other."""
        if not wholes:
            return
        top, levels = self.picture.height + 14, [float("-inf")]
        for fabric in sorted(wholes, key=lambda one: self._ends(one)[0].x):
            left, right = self._ends(fabric)
            level = next((n for n, end in enumerate(levels) if end < left.x), len(levels))
            levels[level:] = [right.x + right.width]
            rows = self._of(fabric)
            room = right.x + right.width - left.x
            y = top + level * 40
            box = Box("fabric", f"fabric {level} {left.name}", left.x, y, room, PILL + 8)
            for index in fabric.gpus:
                own = self.boxes[f"gpu {index}"]
                joining = [row for row in rows if index in parts.spot(self.machine, row.path)[1:]]
                state, thick = _look(joining)
                self.picture.lines.append(
                    Line(((own.middle, own.bottom), (own.middle, y)), thick, state)
                )
            each = f"{len(fabric.gpus)} GPUs, all to all"
            kind = parts.LINKS.get(fabric.kind, fabric.kind)
            words = self._labelled(
                box,
                rows,
                (f"{each}: {fabric.words} each way", f"{each}: {fabric.words}", fabric.words, kind),
            )
            if fabric.words not in words:
                self.unsaid[f"{fabric.words} between GPUs"] = None
            self.picture.height = max(self.picture.height, box.bottom)

    def _listed(self, fabrics: list[Fabric]) -> None:
        """Links of GPUs in several rows, in words."""
        kinds: dict[str, list[Fabric]] = {}
        for fabric in fabrics:
            kinds.setdefault(fabric.words, []).append(fabric)
        for level, (words, alike) in enumerate(kinds.items()):
            rows = [row for one in alike for row in self._of(one)]
            if len(alike) == 1 and len(alike[0].gpus) > 2:
                who = f"{len(alike[0].gpus)} GPUs, all to all"
            else:
                who = "GPUs " + ", ".join("–".join(map(str, one.gpus)) for one in alike)
            pills = len(rows) * (PILL + 3)
            lines = wrapped(f"{words}: {who}", self.width - 2 * PAD - pills)
            y = self.picture.height + 8
            box = Box("fabric", f"fabric {level}", 0, y, self.width, len(lines) * LINE + 10)
            self._add(box, lines, top=5)
            for at, row in enumerate(rows):
                self._pill(row, PAD + PILL / 2 + at * (PILL + 3), y + 4, PILL)
            self.picture.height = box.bottom
        self.picture.height += 6

    # In words

    def _notes(self) -> None:
        notes = [f"Each way: {', '.join(self.unsaid)}."] if self.unsaid else []
        in_gpus = [node.index for node in self.machine.numa_nodes if node.memory == "gpu"]
        if in_gpus:
            which = f"node {in_gpus[0]}" if len(in_gpus) == 1 else f"nodes {joined(in_gpus)}"
            notes.append(f"GPU memory is NUMA {which}, too.")
        if parts.indirect(self.machine):
            notes.append("Other pairs of GPUs are joined through other GPUs.")
        elif len(self.machine.gpus) > 1 and any(
            link.kind not in parts.OWN_LINES for link in self.machine.gpu_links
        ):
            notes.append("Other pairs of GPUs are joined through the host.")
        if self.rows:
            notes.append("Thin grey links were not measured; rates beside links are theoretical.")
        elif self.machine.gpus or self.machine.nics:
            notes.append("Rates are theoretical; nothing was measured.")
        self.picture.height += 4
        for note in wrapped(" ".join(notes), self.width):
            self.picture.say(note, 0, self.width, style="muted")

    def _key(self) -> None:
        """A line for each measured path: its gauge, and the figures."""
        if not self.rows:
            return
        rows = summed(self.rows)
        sizes = {row.size_bytes for row in rows}
        one_size = f", {size(min(sizes))} a message" if len(sizes) == 1 else ""
        self.picture.height += 10
        heading = f"What the best library reaches of each ceiling: one direction{one_size}"
        for words in wrapped(heading, self.width, strong=True):
            self.picture.say(words, 0, self.width, style="strong")
        self.picture.height += 4
        before = ""
        for row in rows:
            figures = row.figures if one_size else f"{row.figures} at {size(row.size_bytes)}"
            (self._wide_row if self.wide else self._narrow_row)(row, figures, row.letter != before)
            before = row.letter
        self._legend()

    def _wide_row(self, row: Measured, figures: str, first: bool) -> None:
        top, words_x, gauge_x, text_x = self.picture.height, PILL + 8, 330.0, 450.0
        if first:
            self._letter(row, 0, top)
        words = wrapped(f"{row.name}: {row.ends}", gauge_x - words_x - 12)
        told = wrapped(figures, self.width - text_x)
        for at, line in enumerate(words):
            self._text(line, words_x, top + at * LINE, gauge_x - words_x - 12)
        for at, line in enumerate(told):
            self._text(line, text_x, top + at * LINE, self.width - text_x)
        if row.fraction is not None:
            self._gauge(row, gauge_x, top, text_x - gauge_x - 12)
        self.picture.height = top + max(PILL + 4, max(len(words), len(told)) * LINE + 8)

    def _narrow_row(self, row: Measured, figures: str, first: bool) -> None:
        top, x = self.picture.height, PILL + 8
        if first:
            self._letter(row, 0, top)
        room = self.width - x
        y = top
        for line in wrapped(f"{row.name}: {row.ends}", room):
            self._text(line, x, y, room)
            y += LINE
        gauge = 96.0 if row.fraction is not None else 0.0
        if gauge:
            self._gauge(row, x, y + 3, gauge)
        after = x + gauge + (10 if gauge else 0)
        for line in wrapped(figures, self.width - after):
            self._text(line, after, y + 3 if gauge else y, self.width - after)
            y += LINE
        self.picture.height = max(y, top + LINE + 3 + PILL - 8) + 12

    def _text(self, words: str, x: float, y: float, room: float) -> None:
        self.picture.texts.append(Text(words, x, y + SIZE + 2, room))

    def _letter(self, row: Measured, x: float, y: float) -> None:
        self.picture.pills.append(Pill(x, y, PILL, row.letter, None, row.state, row.sentence))

    def _gauge(self, row: Measured, x: float, y: float, width: float) -> None:
        self.picture.pills.append(
            Pill(x, y, width, row.share, row.fraction, row.state, row.sentence)
        )

    def _legend(self) -> None:
        """What the fillings of the gauges mean."""
        if all(row.fraction is None for row in self.rows):
            return
        self.picture.height += 4
        x, y = 0.0, self.picture.height
        near, half = f"{100 * NEAR:.0f} %", f"{100 * HALF:.0f}"
        states = {"near": f"{near} or more", "half": f"{half} to {near}", "far": "less"}
        for state, words in states.items():
            self.picture.pills.append(Pill(x, y, 24, "", 1.0, state, words))
            self._text(words, x + 30, y, text_width(words))
            x += 30 + text_width(words) + 14
        self.picture.height = y + PILL + 2

    # Shapes

    def _add(self, box: Box, lines: list[str], top: float = 4, strong: bool = False) -> None:
        """A box with lines of text in its middle, the first of them `strong`."""
        self.picture.boxes.append(box)
        for at, words in enumerate(lines):
            room = box.width - (2 if strong and not at else 2 * PAD)
            heavy = strong and not at and text_width(words, True) <= room
            style = "strong" if heavy else "muted" if at else ""
            self.picture.texts.append(
                Text(
                    shortened(words, room, heavy),
                    box.middle,
                    box.y + top + SIZE + at * LINE,
                    room,
                    "middle",
                    style,
                )
            )

    def _labelled(self, box: Box, rows: list[Measured], choices: Sequence[str]) -> str:
        """A long box with pills at its left, and the first of the texts that fits beside them."""
        self.picture.boxes.append(box)
        pills = len(rows) * ((LONG_PILL if self.wide else PILL) + 3)
        self._pills(rows, box.x + PAD, box.y + (box.height - PILL) / 2, pills)
        space = box.width - 2 * PAD - pills
        words = first_fit(choices, space)
        if words:
            middle = box.x + PAD + pills + space / 2
            y = box.y + box.height / 2 + SIZE * 0.36
            self.picture.texts.append(Text(words, middle, y, space, "middle"))
        return words

    def _pills(
        self, rows: list[Measured], x: float, y: float, room: float, centred: bool = False
    ) -> None:
        """Pills side by side: with percentages where there is room, else the letters alone."""
        if not rows:
            return
        each = (room + 3) / len(rows) - 3
        own = [_pill_width(row, each) for row in rows]
        left = x + (room - sum(own) - 3 * (len(own) - 1)) / 2 if centred else x
        for row, width in zip(rows, own, strict=True):
            self._pill(row, left + width / 2, y, each)
            left += width + 3

    def _pill(self, row: Measured, middle: float, y: float, room: float) -> None:
        width = _pill_width(row, room)
        words = row.letter if width == PILL else f"{row.letter} {_rounded(row)}"
        self.picture.pills.append(
            Pill(middle - width / 2, y, width, words, row.fraction, row.state, row.sentence)
        )


def _pill_width(row: Measured, room: float) -> float:
    return LONG_PILL if row.fraction is not None and room >= LONG_PILL else PILL


def _rounded(row: Measured) -> str:
    return f"{100 * (row.fraction or 0):.0f} %"


def _look(rows: list[Measured]) -> tuple[str, float]:
    """The state of a link and its thickness, by the first of what was measured on it."""
    if not rows:
        return "plain", 1.2
    return rows[0].state, thickness(rows[0].ceiling or rows[0].value)


def _columns(width: float, least: float) -> int:
    return max(1, floor((width + GAP) / (least + GAP) + 1e-6))


def _groups(nics: list[Nic]) -> list[list[Nic]]:
    """Adapters that are alike and near to the same node."""
    found: dict[tuple[int | None, str, float | None], list[Nic]] = {}
    for nic in nics:
        found.setdefault((nic.numa_node, nic.kind, nic.rate_gbs), []).append(nic)
    return list(found.values())


def _cpus(node: NumaNode) -> str:
    from nearpeak.machine.tree import format_list

    return f"NUMA node {node.index}, CPUs {format_list(node.cpus) or 'none'}"
