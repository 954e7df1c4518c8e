# SPDX-License-Identifier: Apache-2.0
"""Ranks whose memory may lie off the NUMA node of their path."""

from collections import Counter
from collections.abc import Iterator

import msgspec

from nearpeak.findings.evidence import Noticed, Rule, View
from nearpeak.findings.sentences import Phrases
from nearpeak.findings.sources import Reference
from nearpeak.observations.observed import Launch
from nearpeak.results.results import Fact, Source


def find(view: View) -> Iterator[Noticed]:
    """Yields one fact for each path whose launches recorded other nodes than planned."""
    for path in view.observations.paths:
        planned = sorted(end.numa_node for end in path.ends if end.numa_node is not None)
        if len(planned) < len(path.ends) or len(view.observations.machine.numa_nodes) < 2:
            continue
        deviations: Counter[str] = Counter()
        for launch in view.launches:
            nodes = _nodes(launch) if launch.place == path.place else []
            if len(nodes) == len(planned) and sorted(nodes) != [[node] for node in planned]:
                deviations["; ".join(map(_joined, nodes))] += 1
        facts = [
            Fact(
                of="rank", name=f"NUMA nodes, planned: {_joined(planned)}", value=value, launches=n
            )
            for value, n in sorted(deviations.items())
        ]
        if facts:
            yield Noticed(facts, place=path.place)


def _nodes(launch: Launch) -> list[list[int]]:
    """The recorded NUMA nodes of the memory of each rank, by rank."""
    by_rank: list[list[int]] = []
    while recorded := launch.conditions.get(f"rank {len(by_rank)} numa_nodes"):
        by_rank.append(msgspec.json.decode(recorded, type=list[int]))
    return by_rank


def _joined(nodes: list[int]) -> str:
    return ", ".join(map(str, nodes))


def sentence(it: Phrases) -> str:
    """The finding with its evidence."""
    return f"{it.place.path}: ranks were not where they should be: {it.facts(': ')}."


RULE = Rule(
    name="numa",
    tells="The memory of a rank could come from other NUMA nodes than that of its end of the path"
    " (or from several), as its launch recorded.",
    find=find,
    origin="placement",
    headline="ranks were not where they should be",
    sentence=sentence,
    action="Bind ranks and their memory to the node.",
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
