# SPDX-License-Identifier: Apache-2.0
"""Lays out the drawing of a machine; svg.py draws it.

From top to bottom: a heading, the adapters, the sockets with their NUMA nodes, the GPUs,
the links between these, and a line for each path that was measured.
"""

import re
from collections import Counter
from collections.abc import Sequence

from nearpeak.machine.machine import Gpu, Machine
from nearpeak.machine.rails import below_switches, of_one_port, one_port
from nearpeak.machine.sysfs import NO_MODEL
from nearpeak.machine.tree import format_list
from nearpeak.numbers import count, noun, number
from nearpeak.picture import adapters, frames
from nearpeak.picture.canvas import WIDE, Canvas
from nearpeak.picture.gpu_links import add_gpu_links
from nearpeak.picture.gpus import add_gpus
from nearpeak.picture.key import add_key
from nearpeak.picture.measured import Measured
from nearpeak.picture.parts import OWN_LINES, Socket, gib, indirect, memory_words, sockets
from nearpeak.picture.shapes import PILL, Picture, glued, joined, named

ABREAST = {True: 4, False: 2}  # sockets side by side, in the wide drawing and the narrow one


def layout(
    machine: Machine,
    rows: Sequence[Measured] = (),
    width: float = WIDE,
    notes: Sequence[str] = (),
) -> Picture:
    """The drawing of a machine, WIDE or NARROW. `rows`: the measured ones, none for only the
    machine; `notes`: sentences below them."""
    canvas = Canvas(machine, rows, width, notes)
    machine_sockets = sockets(canvas.machine)
    _add_heading(canvas, machine_sockets)
    adapters.add_second_host(canvas)
    abreast = ABREAST[canvas.wide]
    placed = [socket for socket in machine_sockets if socket.nodes]
    for start in range(0, len(placed), abreast):
        _add_row(canvas, placed[start : start + abreast], alone=len(placed) == 1)
    for socket in machine_sockets[len(placed) :]:
        _add_row(canvas, [socket], alone=True)
    if machine_sockets:
        add_gpu_links(canvas)
    _add_notes(canvas)
    add_key(canvas)
    canvas.picture.height += 2
    canvas.picture.title = f"{processor(machine.cpu_model)}, {count(len(machine.gpus), 'GPU')}"
    canvas.picture.description = " ".join(f"{row.sentence}." for row in canvas.rows)
    return canvas.picture


def processor(model: str) -> str:
    """The bare name of a processor: `Intel Xeon Gold 6248`."""
    if model == NO_MODEL:
        return "Processor not known"
    plain = re.sub(r"\((R|TM)\)|( CPU)? @.*|,.*|( \d+-Core)? Processor$", "", model)
    return " ".join(plain.split())


def _add_heading(canvas: Canvas, machine_sockets: list[Socket]) -> None:
    """Adds the heading: the processors, then each kind of GPU."""
    packages = len({package for socket in machine_sockets for package in socket.packages})
    cores = glued(count(len(canvas.machine.cores), "core"))
    memory = memory_words(canvas.machine, sum(socket.memory_bytes for socket in machine_sockets))
    name = _times(packages, processor(canvas.machine.cpu_model))
    lines = [", ".join(filter(None, [f"{name}: {cores}", memory]))]
    gpus = canvas.machine.gpus
    kinds = Counter((_model(gpu), gib(gpu.memory_bytes or 0), gpu.memory_gbs) for gpu in gpus)
    # A copy reads and writes each byte: the ceiling within a GPU is at most half of its rate.
    copies = ", half for a copy" if any(row.path.shares_gpu for row in canvas.rows) else ""
    for (name, size, gbs), many in kinds.items():
        facts = [size, glued(f"{number(gbs)} GB/s{copies}") if gbs else ""]
        memories = " at ".join(filter(None, facts))
        lines.append(": ".join(filter(None, [_times(many, name), memories])))
    for line in lines:
        canvas.picture.say(line, style="strong")
    canvas.picture.height += 8


def _model(gpu: Gpu) -> str:
    return gpu.name if gpu.partition is None else f"{gpu.name} in partitions"


def _times(many: int, name: str) -> str:
    return f"{many} × {name}" if many > 1 else name


def _add_row(canvas: Canvas, row: list[Socket], alone: bool) -> None:
    """Adds sockets side by side, with their adapters above and their GPUs below."""
    spans = frames.spans_of(canvas, row, alone)
    both = list(zip(row, spans, strict=True))
    top = canvas.picture.height
    top += max(adapters.adapters_height(socket, width) for socket, (_, width) in both)
    height = max(frames.frame_height(canvas, socket, width) for socket, (_, width) in both)
    height = max(height, len(canvas.rows_on("sockets")) * (PILL + 3) + 10)
    for socket, span in both:
        adapters.add_adapters(canvas, socket, span, top)
        frames.add_frame(canvas, socket, span, top, height)
    frames.add_between(canvas, spans, top + height / 2)
    canvas.picture.height = top + height
    add_gpus(canvas, row, spans)


def _has_rates(machine: Machine) -> bool:
    rates = [nic.rate_gbs for nic in machine.nics]
    rates += [rate for gpu in machine.gpus for rate in (gpu.host_gbs, gpu.memory_gbs)]
    return any([*rates, *(link.gbs for link in machine.gpu_links)])


def _add_notes(canvas: Canvas) -> None:
    machine, rows = canvas.machine, canvas.rows
    in_gpus = [node.index for node in machine.numa_nodes if node.memory == "gpu"]
    homeless = [cpu for core in machine.cores_of_no_node for cpu in core.cpus]
    kinds = {link.kind for link in machine.gpu_links}
    through_host = not indirect(machine) and not kinds <= {*OWN_LINES, "unknown"}
    pairs = any(row.path.pair for row in rows)
    switches = "; ".join(
        f"{noun(len(gpus), 'GPU')} {joined([gpu.index for gpu in gpus])} with {named(names, 2)}"
        for gpus, names in below_switches(machine)
    )
    ports = of_one_port(machine.gpus, machine.nics)
    others = "Other pairs of GPUs" if kinds & {*OWN_LINES} else "GPUs"
    cliques = ", ".join(sorted({gpu.fabric for gpu in machine.gpus if gpu.fabric}))
    unmeasured = " or their pairs are not the slowest" if pairs else ""
    notes = (
        (canvas.unsaid, f"Each way: {', '.join(canvas.unsaid)}."),
        (in_gpus, f"GPU memory is NUMA {noun(len(in_gpus), 'node')} {joined(in_gpus)}, too."),
        (switches, f"PCIe switches join {switches}."),
        (ports, " ".join(map(one_port, ports))),
        (homeless, f"CPUs {format_list(homeless)} belong to no NUMA node."),
        (indirect(machine), "Other pairs of GPUs are joined through other GPUs."),
        (through_host, f"{others} are joined through the host."),
        (cliques, f"NVLink joins the GPUs with those of other hosts, too: {cliques}."),
        (
            rows,
            f"Grey links were not measured{unmeasured}; rates beside links are theoretical.",
        ),
        (
            not rows and _has_rates(machine),
            "Rates are theoretical; none was measured.",
        ),
    )
    canvas.picture.height += 4
    if said := " ".join(note for holds, note in notes if holds):
        canvas.picture.say(said, style="muted")
