# SPDX-License-Identifier: Apache-2.0
"""Derived datatypes of device memory that crash a library."""

from collections import defaultdict
from collections.abc import Iterator

from nearpeak.findings.evidence import Noticed, Rule, View
from nearpeak.findings.sentences import Phrases
from nearpeak.findings.sources import NOT_AWARE
from nearpeak.observations.observed import Launch
from nearpeak.results.results import Fact
from nearpeak.terms.axes import BY_MPI, PACK
from nearpeak.terms.buffers import in_gpu
from nearpeak.terms.identity import Who
from nearpeak.terms.outcomes import failure


def find(view: View) -> Iterator[Noticed]:
    """Yields one fact for each library whose launches failed in such a case."""
    ended: dict[Who, dict[tuple[str, str], list[Launch]]] = defaultdict(lambda: defaultdict(list))
    for launch in view.launches:
        case = launch.at
        if failure(launch.status) is None or case is None or not in_gpu(case.buffers):
            continue
        if (pack := case.axes.get(PACK)) in BY_MPI:
            operation = f"{case.buffers} {case.benchmark} {PACK}={pack}"
            ended[launch.who][operation, launch.cause or launch.message].append(launch)
    for who, by_operation in ended.items():
        facts = [
            Fact(of="operation", name=operation, value=cause, launches=len(launches))
            for (operation, cause), launches in sorted(by_operation.items())
        ]
        first = min(
            (launches[0] for launches in by_operation.values()), key=lambda launch: launch.number
        )
        yield Noticed(facts, who, first.place, first.at, command=first.command)


def sentence(it: Phrases) -> str:
    """The finding with its evidence."""
    return (
        f"{it.who.label}: launches ended where MPI gathers blocks of device memory:"
        f" {it.facts(': ')}."
    )


RULE = Rule(
    name="device_datatypes",
    tells="Launches ended in a case in which MPI had to gather blocks of device memory by their"
    " datatype (`pack=direct`, `pack=mpi`).",
    find=find,
    origin="software",
    headline="launches ended where MPI gathers blocks of device memory",
    sentence=sentence,
    remedy="Gather the blocks by a kernel of the application (`pack=kernel`), and send them as"
    " one.",
    sources=[NOT_AWARE],
)
