# SPDX-License-Identifier: Apache-2.0
"""Partitions of GPUs: those of one package are drawn as one GPU, named by its first."""

import msgspec

from nearpeak.grouping import grouped
from nearpeak.machine.machine import Gpu, GpuLink, Machine


def packages_of(machine: Machine) -> list[list[Gpu]]:
    """The partitions of each package; a GPU that is whole alone."""
    packages = grouped(machine.gpus, lambda gpu: gpu.index if gpu.partition is None else gpu.pci)
    return list(packages.values())


def drawn_as(machine: Machine) -> dict[int, int]:
    """The GPU as which each is drawn, by their indices."""
    return {gpu.index: package[0].index for package in packages_of(machine) for gpu in package}


def of_packages(machine: Machine) -> Machine:
    """The machine with each package as one GPU, and with the links between packages."""
    packages = packages_of(machine)
    if len(packages) == len(machine.gpus):
        return machine
    drawn = drawn_as(machine)
    links: dict[tuple[int, int], GpuLink] = {}
    for link in machine.gpu_links:
        one, other = sorted((drawn[link.one], drawn[link.other]))
        if one != other:
            links.setdefault((one, other), msgspec.structs.replace(link, one=one, other=other))
    return msgspec.structs.replace(
        machine, gpus=[_whole(package) for package in packages], gpu_links=list(links.values())
    )


def _whole(package: list[Gpu]) -> Gpu:
    sizes = [gpu.memory_bytes or 0 for gpu in package]
    memory = sum(sizes) if all(sizes) else None
    return msgspec.structs.replace(package[0], memory_bytes=memory)
