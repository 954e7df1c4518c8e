# SPDX-License-Identifier: Apache-2.0
"""A link of several that carries nothing."""

from collections import defaultdict
from collections.abc import Iterator

from nearpeak.findings.counted import LEAST_BYTES, idle, on_adapters, shares
from nearpeak.findings.evidence import Noticed, Rule, View
from nearpeak.findings.sentences import Phrases
from nearpeak.findings.sources import FIELD_VALUES, Reference
from nearpeak.results.results import Fact
from nearpeak.terms.counters import LABELS, Link
from nearpeak.terms.identity import Place

CARRIED = "carried nothing"


def find(view: View) -> Iterator[Noticed]:
    """Yields the adapters of each library and path, and the single links of GPUs on each path, that
    carry nothing while more of their kind do."""
    for who, place, kind, links in on_adapters(view):
        parts = {link.name: share for link, share in shares(links).items()}
        if names := idle(parts):
            rest = Fact(of="counted", name=kind, value=f"{len(links)} adapters of this rate")
            facts = [Fact(of="counted", name=name, value=CARRIED) for name in names]
            yield Noticed([*facts, rest], who, place)
    for (place, link), singles in _single_links(view).items():
        total = sum(singles.values())
        if total >= LEAST_BYTES and (names := idle({n: b / total for n, b in singles.items()})):
            facts = [Fact(of="counted", name=name, value=CARRIED) for name in names]
            label = f"{LABELS[link.kind]} of {link.name}"
            yield Noticed(
                [*facts, Fact(of="counted", name=label, value=f"{len(singles)} links")], place=place
            )


def _single_links(view: View) -> dict[tuple[Place, Link], dict[str, float]]:
    """The bytes that a GPU sent on each of its links, in all launches on a path."""
    sums: dict[tuple[Place, Link], dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for launch in view.launches:
        for link, singles in launch.single_links.items():
            for number, sent in enumerate(singles):
                sums[launch.place, link][f"link {number}"] += sent
    return sums


def sentence(it: Phrases) -> str:
    """The finding with its evidence."""
    who = f"{it.finding.who.label}, " if it.finding.who else ""
    return f"{who}{it.place.path}: some links carry nothing, and others of their kind do:" + (
        f" {it.facts(': ')}."
    )


RULE = Rule(
    name="idle_link",
    tells="Of several RDMA adapters of one kind and rate in a host, or of the NVLinks or XGMI links"
    " of a GPU, some carry nothing, and more than as many carry large messages.",
    find=find,
    origin="hardware",
    headline="some links carry nothing: {it.all_facts}",
    sentence=sentence,
    action="See whether the link is up.",
    remedy="See whether the link is up (ibstat; nvidia-smi nvlink -s), and whether the library may"
    " use it.",
    sources=[Reference(FIELD_VALUES, memory="device")],
)
