# SPDX-License-Identifier: Apache-2.0
"""The requested places and library of a launch, compared with those that its program reports.

A study and `nearpeak run` believe no figure of a launch that ran elsewhere.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import msgspec

from nearpeak.launching.program_records import EnvironmentRecord
from nearpeak.terms.buffers import Ends
from nearpeak.terms.path import NO_DEVICE

NO_PLACE = "it did not say where it ran"


@dataclass(frozen=True)
class Wanted:
    """The requested place of each rank. None for a device or the library: any."""

    hosts: Sequence[str | None]  # those of one name, or of none, are one host
    cpus: Sequence[Sequence[int]]
    devices: Sequence[str | None]  # UUIDs; `-`: none
    library: str | None = None  # MPI_Get_library_version, whole


class _Device(msgspec.Struct):
    uuid: str | None = None


class _Rank(msgspec.Struct):
    """The reported place of a rank, as far as it is checked."""

    rank: int
    host: str | None = None
    cpus: list[int] = []
    device: _Device | None = None


def wanted_at(
    ends: Ends, *, between_hosts: bool, ceiling: bool = False, library: str | None = None
) -> Wanted:
    """Returns the requested places of ranks at these ends of a path. A ceiling within a host has
    one CPU at each. Between two hosts devices are not known by UUID."""
    return Wanted(
        hosts=[end.host for end in ends],
        cpus=[end.cpus[:1] if ceiling and not between_hosts else end.cpus for end in ends],
        devices=[None if between_hosts else end.gpu or end.device for end in ends],
        library=library,
    )


def misplaced(wanted: Wanted, environment: EnvironmentRecord) -> str:
    """Names the first rank that did not run on its host, CPUs and device, or the library if all ran
    with another one; "" if all is as requested."""
    reported = {rank.rank: rank for rank in msgspec.convert(environment.ranks, list[_Rank])}
    ranks = [reported.get(number, _Rank(number)) for number in range(len(wanted.hosts))]
    return next(filter(None, _misplaced(wanted, ranks, environment.library_version)), "")


def _misplaced(wanted: Wanted, ranks: Sequence[_Rank], loaded: str | None) -> Iterator[str]:
    yield from _on_other_hosts(wanted, ranks)
    for rank, cpus in zip(ranks, wanted.cpus, strict=True):
        if sorted(rank.cpus) != sorted(cpus):
            yield f"rank {rank.rank} ran on CPUs {rank.cpus}, wanted {list(cpus)}"
    for rank, uuid in zip(ranks, wanted.devices, strict=False):
        device = rank.device.uuid if rank.device else None
        if uuid not in (None, device or NO_DEVICE):
            wanted_device = "none" if uuid == NO_DEVICE else uuid
            yield f"rank {rank.rank} ran on device {device}, wanted {wanted_device}"
    if None not in (wanted.library, loaded) and loaded != wanted.library:
        yield f"it ran with {_short(str(loaded))}, wanted {_short(str(wanted.library))}"


def _on_other_hosts(wanted: Wanted, ranks: Sequence[_Rank]) -> Iterator[str]:
    firsts: dict[str | None, _Rank] = {}  # of each host that was wanted
    for rank, host in zip(ranks, wanted.hosts, strict=True):
        first = firsts.setdefault(host, rank)
        if rank.host != first.host:
            yield (
                f"rank {rank.rank} ran on host {rank.host}, "
                f"wanted that of rank {first.rank}, {first.host}"
            )
    hosts: dict[str | None, str | None] = {}  # by where its ranks ran, the one that was wanted
    for wanted_host, first in firsts.items():
        other = hosts.setdefault(first.host, wanted_host)
        if other != wanted_host:
            both = f"those of {other} and of {wanted_host}" if len(firsts) > 2 else "all ranks"
            yield f"{both} ran on host {first.host}, not on {other} and {wanted_host}"


def _short(version_text: str) -> str:
    """Returns the first line of a version text, cut to 80 characters."""
    return version_text.strip().partition("\n")[0][:80]
