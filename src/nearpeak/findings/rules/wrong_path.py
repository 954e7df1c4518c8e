# SPDX-License-Identifier: Apache-2.0
"""Messages whose bytes were counted on other links than those of their path."""

from collections.abc import Iterator

from nearpeak.findings.counted import ADAPTERS, MOST, Times, in_cells
from nearpeak.findings.evidence import Noticed, Rule, View
from nearpeak.findings.sentences import Phrases
from nearpeak.findings.settings import UCX_IPC, UCX_LIST, Setting
from nearpeak.findings.sources import SLURM_GPUS, Reference, issue
from nearpeak.machine.machine import Machine
from nearpeak.machine.rails import without_tcp
from nearpeak.results.results import Cell
from nearpeak.terms.counters import KINDS, LinkKind
from nearpeak.terms.path import DataPath

DIRECT: tuple[LinkKind, ...] = ("nvlink", "xgmi")


def find(view: View) -> Iterator[Noticed]:
    """Yields the largest messages of each library, path and buffers that took another path."""
    machine = view.observations.machine

    def holds(path: DataPath, cell: Cell, counted: Times) -> list[LinkKind]:
        return list(_elsewhere(machine, path, cell, counted))

    yield from in_cells(view, holds)


def _elsewhere(machine: Machine, path: DataPath, cell: Cell, counted: Times) -> Iterator[LinkKind]:
    """Yields the link that should have carried the payload, and those that did instead."""
    carried = [kind for kind in KINDS if counted.get(kind, 0.0) >= MOST]
    if path.between_hosts:
        adapters = {nic.verbs or nic.name for nic in without_tcp(machine)}
        without = path.nic in adapters if path.nic else bool(adapters)
        if without and "network" in carried:
            yield from (kind for kind in (*ADAPTERS, "network") if kind in counted)
    elif expected := _expected(machine, path, cell):
        missed = [kind for kind in expected if kind in counted]
        if missed and not set(missed) & set(carried):
            yield from (*missed, *carried)
    elif path.transport == "memory" and "loopback" in carried:
        yield "loopback"


def _expected(machine: Machine, path: DataPath, cell: Cell) -> tuple[LinkKind, ...]:
    """The kinds of links between GPUs of which one should carry the payload; empty: not known, or
    the buffers may be staged."""
    if not set(cell.case.buffers) <= set("D,"):
        return ()
    indices = {gpu.uuid: gpu.index for gpu in machine.gpus}
    ends = {indices.get(end.gpu or "") for end in path.ends}
    links = [link for link in machine.gpu_links if {link.one, link.other} == ends]
    return tuple(
        kind for link in links if link.peer is None for kind in DIRECT if link.kind == kind
    )


def sentence(it: Phrases) -> str:
    """The finding with its evidence."""
    counted, variables = it.joined("counted", ": "), it.joined("variable", "=")
    text = f"{it.subject}: by the counters of the links, {counted}."
    return f"{text} It is run with {variables}." if variables else text


RULE = Rule(
    name="wrong_path",
    tells="The counters of links show that large messages did not take the link of their path, in"
    " any launch: less than half of the payload was counted on NVLink or XGMI, which joins the two"
    " GPUs; or half of it or more on network interfaces (TCP), between hosts with RDMA adapters or"
    " on the loopback interface inside a host.",
    find=find,
    origin="settings",
    headline="{it.short}: messages take another path: {it.all_facts}",
    sentence=sentence,
    action="Let the library use the link of the path.",
    remedy="Look at why the library does not use the link of the path: which transports it may use,"
    " whether it may open the memory of the other GPU (IPC), and which network devices it takes.",
    reasons=[
        Setting(
            "ucx",
            UCX_LIST,
            f"^{transport}",
            f"no IPC between ranks; as any list without {transport}",
            of_device=True,
        )
        for transport in UCX_IPC
    ],
    sources=[
        SLURM_GPUS,
        Reference(
            issue(
                "rapidsai/ucx-py",
                402,
                "what large messages fall back to where NVLink fails",
                "UCX-Py",
            ),
            ("ucx",),
            "device",
            "one",
        ),
    ],
)
