# SPDX-License-Identifier: Apache-2.0
"""Messages between hosts through a NIC far from the GPU, or shared by several ranks."""

from collections.abc import Iterator, Sequence

from nearpeak.findings.evidence import Noticed, Rule, View
from nearpeak.findings.sentences import Phrases
from nearpeak.findings.sources import FAR_ADAPTER, of_ucx
from nearpeak.machine.gpu_paths import FAR_NIC
from nearpeak.machine.machine import Gpu
from nearpeak.results.results import Fact
from nearpeak.terms.path import DataPath


def find(view: View) -> Iterator[Noticed]:
    """Checks every path between hosts, except the one that forces a far NIC."""
    machine = view.observations.machine
    node_of = {nic.verbs: nic.numa_node for nic in machine.nics if nic.verbs}
    for path in view.observations.paths:
        if path.between_hosts and path.adapter in node_of and path.id != FAR_NIC:
            facts = list(_facts(path, path.adapter, node_of[path.adapter], machine.gpus))
            if facts:
                yield Noticed(facts, place=path.place)


def _facts(path: DataPath, adapter: str, node: int | None, gpus: Sequence[Gpu]) -> Iterator[Fact]:
    homes = {gpu.number: gpu.numa_node for gpu in gpus}
    mine = [end for end in path.ends if end.host == path.ends[0].host]
    for end in mine:
        home = homes.get(end.gpu, end.numa_node) if end.gpu else None
        if None not in (node, home) and node != home:
            value = f"at NUMA node {node}, the GPU at {home}"
            yield Fact(of="adapter", name=adapter, value=value)
    if len(mine) > 1:
        yield Fact(of="adapter", name=adapter, value=f"shared by {len(mine)} ranks of a host")


def sentence(it: Phrases) -> str:
    """The finding with its evidence."""
    return f"{it.place.path}: the adapter {it.facts()}."


RULE = Rule(
    name="adapter",
    tells="Messages between hosts pass an adapter at another NUMA node than the GPU, or one that"
    " several ranks of a host share.",
    find=find,
    origin="placement",
    headline="the adapter {it.all_facts}",
    sentence=sentence,
    action="Choose an adapter near each GPU (UCX_NET_DEVICES).",
    remedy="Choose an adapter near each GPU (nvidia-smi topo -m), one for each rank"
    " (UCX_NET_DEVICES).",
    sources=[
        FAR_ADAPTER,
        of_ucx(10669, "adapters of other sockets are used too, and slower")._replace(
            hosts="several"
        ),
    ],
)
