# SPDX-License-Identifier: Apache-2.0
"""The bytes that links counted beside the payload of a case."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from statistics import median

from nearpeak.grouping import present
from nearpeak.numbers import natural
from nearpeak.observations.observed import Counted, Observation, Observations
from nearpeak.results.results import CountedCase, CountedLink, Counting, LinkInfo, UnreadInfo
from nearpeak.terms.counters import KINDS, Link, LinkKind, OnLink

# Bonds, bridges and VLANs count a packet again: of the kernel's interfaces the busiest of a host.
BUSIEST: tuple[LinkKind, ...] = ("network",)


def of_case(believed: Sequence[Observation]) -> CountedCase | None:
    """The medians over the launches of a case; None if no launch counted."""
    counted = [observation.counted for observation in believed if observation.counted]
    if not counted:
        return None
    payloads = present(one.payload_bytes for one in counted)
    ratios: dict[LinkKind, list[float]] = defaultdict(list)
    for one in counted:
        for kind, ratio in times(one).items():
            ratios[kind].append(ratio)
    return CountedCase(
        payload_bytes=median(payloads) if payloads else None,
        seconds=median(one.seconds for one in counted),
        times={kind: median(ratios[kind]) for kind in KINDS if kind in ratios},
        at_least=[kind for kind in KINDS if any(_at_least(one, kind) for one in counted)],
        links=_links(counted),
    )


def times(counted: Counted) -> dict[LinkKind, float]:
    """The bytes on all links of a kind over the payload: of both directions the larger one."""
    if not counted.payload_bytes:
        return {}
    return {
        kind: max(_sum(counted.links, kind, 0), _sum(counted.links, kind, 1))
        / counted.payload_bytes
        for kind in {link.kind for link in counted.links}
    }


def _sum(links: Mapping[Link, OnLink], kind: LinkKind, way: int) -> int:
    by_host: dict[str, list[int]] = defaultdict(list)
    for link, on in links.items():
        if link.kind == kind:
            by_host[link.host].append(on[way])
    together = max if kind in BUSIEST else sum
    return sum(map(together, by_host.values()))


def _at_least(counted: Counted, kind: LinkKind) -> bool:
    return any(on.at_least for link, on in counted.links.items() if link.kind == kind)


def _links(counted: Sequence[Counted]) -> list[CountedLink]:
    """The links that counted anything in any launch."""
    by_link: dict[Link, list[OnLink]] = defaultdict(list)
    for one in counted:
        for link, on in one.links.items():
            by_link[link].append(on)
    return [
        CountedLink(
            kind=link.kind,
            host=link.host,
            name=link.name,
            sent_bytes=median(on.sent for on in by_link[link]),
            received_bytes=median(on.received for on in by_link[link]),
            at_least=any(on.at_least for on in by_link[link]),
        )
        for link in _ordered(by_link)
        if any(on.sent or on.received for on in by_link[link])
    ]


def counting(observations: Observations) -> Counting | None:
    """The links that the study read, and those that it could not; None if nothing was counted."""
    links = {link for launch in observations.launches for link in launch.counted_links}
    unread = {one: None for launch in observations.launches for one in launch.unread}
    if not links and not unread:
        return None
    counted = present(observation.counted for observation in observations.observed)
    return Counting(
        reading_us=median(one.reading_us for one in counted) if counted else None,
        links=[
            LinkInfo(kind=link.kind, host=link.host, name=link.name) for link in _ordered(links)
        ],
        unread=[UnreadInfo(kind=one.kind, host=one.host, why=one.why) for one in unread],
    )


def _ordered(links: Iterable[Link]) -> list[Link]:
    return sorted(links, key=lambda link: (KINDS.index(link.kind), link.host, natural(link.name)))
