# SPDX-License-Identifier: Apache-2.0
"""Ranks that ran, or whose memory may lie, off the NUMA node of their path."""

from collections import Counter
from collections.abc import Iterator

import msgspec

from nearpeak.findings.evidence import Noticed, Rule, View
from nearpeak.findings.sources import Reference
from nearpeak.observations.observed import Launch
from nearpeak.results.results import Fact, Source


def find(view: View) -> Iterator[Noticed]:
    """One for each path whose launches recorded other nodes than it has."""
    for path in view.observations.paths:
        planned = sorted(end.numa_node for end in path.ends if end.numa_node is not None)
        if len(planned) < len(path.ends) or len(view.observations.machine.numa_nodes) < 2:
            continue
        found: Counter[str] = Counter()
        for launch in view.launches:
            nodes = _nodes(launch) if launch.place == path.place else []
            if len(nodes) == len(planned) and sorted(nodes) != [[node] for node in planned]:
                found["; ".join(map(_words, nodes))] += 1
        facts = [
            Fact(of="rank", name=f"NUMA nodes, planned: {_words(planned)}", value=value, launches=n)
            for value, n in sorted(found.items())
        ]
        if facts:
            yield Noticed(facts, place=path.place)


def _nodes(launch: Launch) -> list[list[int]]:
    """The NUMA nodes of each rank's memory, by rank; as many as were recorded."""
    found: list[list[int]] = []
    while recorded := launch.conditions.get(f"rank {len(found)} numa_nodes"):
        found.append(msgspec.json.decode(recorded, type=list[int]))
    return found


def _words(nodes: list[int]) -> str:
    return ", ".join(map(str, nodes))


RULE = Rule(
    name="numa",
    tells="The memory of a rank could come from other NUMA nodes than that of its end of the path"
    " (or from several), as its launch recorded.",
    find=find,
    remedy="Bind ranks and their memory to the node (numactl --membind, Slurm: --mem-bind=local);"
    " in a container --cap-add=SYS_NICE.",
    sources=[
        Reference(
            Source(
                text="Linux, NUMA memory policy",
                address="https://docs.kernel.org/admin-guide/mm/numa_memory_policy.html",
            )
        ),
    ],
)
