# SPDX-License-Identifier: Apache-2.0
"""Adapters of several that carry nothing."""

from collections.abc import Iterator

from nearpeak.findings.counted import idle, of_hosts, on_adapters, ranks_of_host
from nearpeak.findings.evidence import Noticed, Rule, View
from nearpeak.findings.sentences import Phrases
from nearpeak.findings.sources import PORT_COUNTERS, Reference


def find(view: View) -> Iterator[Noticed]:
    """Yields the adapters of each library and path that carry nothing while more of them do, where
    each could have a rank."""
    for who, path, hosts in on_adapters(view):
        ranks = ranks_of_host(path)
        links = [link for parts in hosts if len(parts) <= ranks for link in idle(parts)]
        if links:
            yield Noticed(of_hosts(dict.fromkeys(links, "carried nothing")), who, path.place)


def sentence(it: Phrases) -> str:
    """The finding with its evidence."""
    return f"{it.who.label}, {it.place.path}: some adapters carry nothing, and others do:" + (
        f" {it.facts(': ')}."
    )


RULE = Rule(
    name="idle_link",
    tells="Of several adapters for RDMA or Slingshot of one kind and rate in a host some carry"
    " nothing, and more of them carry large messages, on a path with at least as many ranks of each"
    " host.",
    find=find,
    origin="hardware",
    headline="some adapters carry nothing: {it.all_facts}",
    sentence=sentence,
    action="See whether the library may use the adapter.",
    remedy="See whether the adapter works (ibstat, cxi_stat), and whether the library may use it"
    " (UCX_NET_DEVICES, MPICH_OFI_NIC_POLICY).",
    sources=[Reference(PORT_COUNTERS, hosts="several")],
)
