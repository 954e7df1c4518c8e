# Every figure in this file is written by hand, none was measured.
# SPDX-License-Identifier: Apache-2.0
"""Launches with counted bytes, for the tests of rules.

Tests import it by its name: `from made_counters import counted` (tests/conftest.py).
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import msgspec

from nearpeak.machine.machine import Gpu, GpuLink, Machine, Nic
from nearpeak.observations.observed import Counted
from nearpeak.results.counted import of_case
from nearpeak.terms.counters import Link, OnLink
from nearpeak.terms.path import DataPath, Endpoint

PAYLOAD = 1 << 30
GPUS = ("GPU-0", "GPU-1")


def nvlink_path() -> DataPath:
    """Two GPUs that NVLink joins, in `machine`."""
    ends = tuple(
        Endpoint(memory="gpu", cpus=[number], numa_node=0, gpu=uuid)
        for number, uuid in enumerate(GPUS)
    )
    return DataPath(id="gpu-gpu nvlink", summary="", transport="memory", ends=ends)


def host_path(**known: Any) -> DataPath:
    """Two cores of a host."""
    ends = tuple(Endpoint(memory="host", cpus=[number], numa_node=0) for number in (0, 1))
    given = {"id": "host-host same-numa", "summary": "", "transport": "memory", "ends": ends}
    return DataPath(**{**given, **known})


def between_hosts(ranks: int = 1, **known: Any) -> DataPath:
    """So many ranks, with a core each, on each of two hosts."""
    ends = tuple(
        Endpoint(memory="host", cpus=[number], numa_node=0, host=host)
        for host in ("a", "b")
        for number in range(ranks)
    )
    given = {"id": "host-host two-nodes", "transport": "network", "ends": ends}
    return host_path(**{**given, **known})


def with_gpus(machine: Machine, peer: str | None = None) -> Machine:
    """The machine with the two GPUs of `nvlink_path`."""
    gpus = [gpu(index) for index in range(len(GPUS))]
    link = GpuLink(one=0, other=1, kind="nvlink", gbs=None, peer=peer)
    return msgspec.structs.replace(machine, gpus=gpus, gpu_links=[link])


def gpu(index: int) -> Gpu:
    """A GPU at NUMA node 0."""
    return Gpu(
        index=index, vendor="nvidia", name="by hand", uuid=f"GPU-{index}", pci="", numa_node=0,
        memory_bytes=1, memory_gbs=None, host_link="pcie", host_gbs=None,
    )  # fmt: skip


def nic(
    name: str, kind: str = "infiniband", rate_gbs: float | None = 50.0, **known: str | None
) -> Nic:
    """An adapter that is up: of RDMA where it is of no other kind."""
    known.setdefault("verbs", name if kind == "infiniband" else None)
    return Nic(name=name, kind=kind, numa_node=0, rate_gbs=rate_gbs, addresses=[], **known)


def with_nics(machine: Machine, *nics: Nic) -> Machine:
    """The machine with these adapters."""
    return msgspec.structs.replace(machine, nics=list(nics))


def with_rails(machine: Machine, *nics: Nic) -> Machine:
    """The same, and a GPU for each of them."""
    gpus = [gpu(index) for index in range(len(nics))]
    return msgspec.structs.replace(with_nics(machine, *nics), gpus=gpus)


def counted(times: Mapping[Link, float], at_least: tuple[str, ...] = ()) -> Counted:
    """So many times the payload, sent and received on each link."""
    return Counted(
        seconds=1.0,
        reading_us=1.0,
        payload_bytes=PAYLOAD,
        links={
            link: OnLink(int(each * PAYLOAD), int(each * PAYLOAD), link.kind in at_least)
            for link, each in times.items()
        },
    )


def on_gpus(nvlink: float, pcie: float) -> dict[Link, float]:
    """The same on the first of two GPUs; what it sends the other one receives."""
    return {Link("nvlink", "a", GPUS[0]): nvlink, Link("pcie", "a", GPUS[0]): pcie}


def noticed(by_hand: Any, rule: str, path: DataPath, *launches: Counted, **known: Any) -> list[Any]:
    """What a rule notices in a case of which each launch counted this."""
    result: list[Any] = by_hand.noticed(rule, **studied(by_hand, path, *launches, **known))
    return result


def studied(
    by_hand: Any, path: DataPath, *launches: Counted, x: int = 16 << 20, **known: Any
) -> dict[str, Any]:
    """A case of which each launch counted this, for a view."""
    cell = by_hand.make_cell(
        "bw",
        10.0,
        x=x,
        place=path.place,
        launches=len(launches),
        buffers=known.pop("buffers", "D,D"),
    )
    started = [by_hand.make_launch(number, place=path.place) for number in range(len(launches))]
    observed = [
        replace(by_hand.observed(launch, cell), counted=each)
        for launch, each in zip(started, launches, strict=True)
    ]
    cell.counted = of_case(observed)
    return {"cells": [cell], "paths": [path], "launches": started, "observed": observed, **known}


def facts(found: list[Any]) -> list[str]:
    """`NVLink: 0 times the payload`, of all that was noticed."""
    return [f"{fact.name}: {fact.value}" for each in found for fact in each.facts]
