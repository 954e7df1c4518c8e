# SPDX-License-Identifier: Apache-2.0
"""Bytes that links counted, for rules (docs/reference/counters.md)."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TypeVar

from nearpeak.findings.evidence import Noticed, View
from nearpeak.grouping import grouped
from nearpeak.machine.machine import Machine, Nic
from nearpeak.machine.rails import rails_of, without_tcp
from nearpeak.numbers import listed, number
from nearpeak.observations.observed import Counted, Observation
from nearpeak.results.counted import times
from nearpeak.results.results import Cell, Fact
from nearpeak.terms.counters import KINDS, LABELS, Link, LinkKind, OnLink
from nearpeak.terms.identity import Place, Who
from nearpeak.terms.path import DataPath

# Of smaller messages the bytes of protocols, flags and empty replies are no small part.
SMALLEST = 64 << 10
LEAST_BYTES = 16 << 20  # payload: less may be lost in what else happens on a link
FEWEST = 2  # launches that show it
MOST = 0.5  # of the payload: a kind of links that counted as much carried it
NOTHING = 0.01  # of the mean of the links that carried: a link that counted less is idle
ADAPTERS: tuple[LinkKind, ...] = ("infiniband", "slingshot")
Times = Mapping[LinkKind, float]
Name = TypeVar("Name")


def in_cells(
    view: View, holds: Callable[[DataPath, Cell, Times], list[LinkKind]]
) -> Iterator[Noticed]:
    """Yields for each library, path and buffers the largest messages of which something holds by
    the bytes that each launch counted, in times of the payload.

    `holds`: the kinds of links that show it; empty: it does not hold. Significant in `FEWEST`
    launches or more, all of which must agree.
    """
    paths = {path.id: path for path in view.observations.paths}
    observed = grouped(
        (seen for seen in view.observations.observed if seen.counted),
        lambda seen: (seen.launch.who, seen.launch.place, seen.case),
    )
    best: dict[tuple[Who, Place, str], tuple[Cell, Noticed]] = {}
    for cell in view.unstaged:
        counted, path = cell.counted, paths.get(cell.place.path)
        if path is None or counted is None or cell.case.x < SMALLEST:
            continue
        if (counted.payload_bytes or 0) < LEAST_BYTES or not (
            kinds := holds(path, cell, counted.times)
        ):
            continue
        launches = [
            times(without_rdma(seen.counted, view.observations.machine))
            for seen in observed.get((cell.who, cell.place, cell.case), [])
            if seen.counted
        ]
        if not all(holds(path, cell, launch) for launch in launches):
            continue
        group = cell.who, cell.place, cell.case.buffers
        if group not in best or best[group][0].case.x < cell.case.x:
            sure = len(launches) >= FEWEST
            facts = by_kind(cell, kinds)
            noticed = Noticed(
                facts, cell.who, cell.place, cell.case, command=cell.command, sure=sure
            )
            best[group] = cell, noticed
    yield from (noticed for _, noticed in best.values())


def without_rdma(counted: Counted, machine: Machine) -> Counted:
    """The bytes without those that an Ethernet interface and the port of its RDMA device both
    counted: the interfaces of some RoCE drivers count RDMA too.

    An interface of IP over InfiniBand or of Slingshot counts TCP only.
    """
    links = dict(counted.links)
    for nic in machine.nics:
        if nic.kind == "ethernet" and nic.verbs:
            for port in [link for link in links if link.name == nic.verbs]:
                links |= _less(links, _interfaces(machine, nic, port.host), links[port])
    return replace(counted, links=links)


def _interfaces(machine: Machine, nic: Nic, host: str) -> list[Link]:
    """The interfaces whose bytes may be those of this adapter's port: of a bond, any may be a
    part."""
    parts = [nic] if nic.pci else [part for part in machine.nics if part.kind == "ethernet"]
    return [Link("network", host, part.name) for part in parts]


def _less(links: Mapping[Link, OnLink], which: Iterable[Link], by: OnLink) -> dict[Link, OnLink]:
    """The bytes on these links, less those of another one."""
    return {
        link: OnLink(max(0, on.sent - by.sent), max(0, on.received - by.received), on.at_least)
        for link in which
        if (on := links.get(link))
    }


def by_kind(cell: Cell, kinds: Iterable[LinkKind]) -> list[Fact]:
    """`NVLink: 0 times the payload`, of the kinds that were read."""
    counted = cell.counted
    if counted is None:
        return []
    return [
        Fact(
            of="counted",
            name=LABELS[kind],
            value=f"{'at least ' if kind in counted.at_least else ''}"
            f"{number(counted.times[kind])} times the payload",
        )
        for kind in KINDS
        if kind in kinds and kind in counted.times
    ]


def on_adapters(view: View) -> Iterator[tuple[Who, DataPath, list[dict[Link, float]]]]:
    """Yields for each library and path between hosts the shares of each host's adapters of one kind
    and rate in the bytes of large messages: of two adapters or more, and of two ranks of each host
    or more, as one rank may take one adapter by design.

    Adapters for something else, such as storage, are left out: all but the rails of GPUs; without
    rails, all that carry no messages on any path.
    """
    paths = {path.id: path for path in view.observations.paths if path.between_hosts}
    machine = view.observations.machine
    mine = {id(launch) for launch in view.launches}
    observed = grouped(
        (
            seen
            for seen in view.observations.observed
            if id(seen.launch) in mine and seen.launch.place.path in paths
        ),
        lambda seen: (seen.launch.who, seen.launch.place.path),
    )
    alike = {key: _alike(machine, sum_of_large(several)) for key, several in observed.items()}
    rails = {nic.counted_as for nics in rails_of(machine).values() for nic in nics}
    used = {link for several in alike.values() for links in several for link in _carrying(links)}
    for (who, path_id), several in alike.items():
        path = paths[path_id]
        if path.nic or ranks_of_host(path) < 2:
            continue
        judged = [
            {
                link: on
                for link, on in links.items()
                if (link.name in rails if rails else link in used)
            }
            for links in several
        ]
        yield who, path, [parts for links in judged if len(links) > 1 and (parts := shares(links))]


def _alike(machine: Machine, sums: Mapping[Link, OnLink]) -> list[dict[Link, OnLink]]:
    """The adapters by host, kind and rate, without those whose rate is not known: of ports that are
    down it is not."""
    rates = {nic.counted_as: nic.rate_gbs for nic in without_tcp(machine)}
    rated = [link for link in sums if rates.get(link.name) is not None]
    groups = grouped(rated, lambda link: (link.host, link.kind, rates[link.name]))
    return [{link: sums[link] for link in links} for links in groups.values()]


def _carrying(links: Mapping[Link, OnLink]) -> list[Link]:
    """The links with half of an equal share of the bytes or more."""
    return [link for link, share in shares(links).items() if share >= 0.5 / len(links)]


def ranks_of_host(path: DataPath) -> int:
    """The fewest ranks that a host of the path has."""
    return min(Counter(end.host for end in path.ends).values())


def sum_of_large(observed: Iterable[Observation]) -> dict[Link, OnLink]:
    """The bytes on adapters over all large messages."""
    sums: dict[Link, OnLink] = {}
    for seen in observed:
        if seen.counted is None or seen.case.x < SMALLEST:
            continue
        for link, on in seen.counted.links.items():
            if link.kind in ADAPTERS:
                before = sums.get(link, OnLink(0, 0))
                sums[link] = OnLink(before.sent + on.sent, before.received + on.received)
    return sums


def shares(links: Mapping[Link, OnLink]) -> dict[Link, float]:
    """The share of each link in the bytes of all, both directions together; empty if these are too
    few to tell."""
    bytes_ = {link: on.sent + on.received for link, on in links.items()}
    total = sum(bytes_.values())
    return {link: part / total for link, part in bytes_.items()} if total >= LEAST_BYTES else {}


def idle(parts: Mapping[Name, float]) -> list[Name]:
    """The links that carry nothing, if more of them carry something: messages between
    two GPUs, or of few ranks, may take few links of many by design."""
    mean = sum(parts.values()) / max(1, sum(share > 0 for share in parts.values()))
    idle_ = [name for name, share in parts.items() if share < NOTHING * mean]
    return idle_ if 0 < len(idle_) < len(parts) - len(idle_) else []


def of_hosts(values: Mapping[Link, str]) -> list[Fact]:
    """`mlx5_0:1 of a and b: carried nothing`: one fact where hosts are alike."""
    alike = grouped(values, lambda link: (link.name, values[link]))
    return [
        Fact(of="counted", name=f"{name} of {listed([link.host for link in links])}", value=value)
        for (name, value), links in alike.items()
    ]
