# SPDX-License-Identifier: Apache-2.0
"""Finds links of GPUs and NICs that have less than they could: PCIe and NVLink."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from nearpeak.machine.gpus.nvidia import FACTS
from nearpeak.machine.gpus.nvlinks import MODELS
from nearpeak.machine.gpus.pci import GENERATIONS_GTS
from nearpeak.machine.machine import Diagnosis, Gpu
from nearpeak.machine.patient import Patient, bad, ok, warn
from nearpeak.machine.pcie_links import PcieLink, links_to
from nearpeak.machine.tree import format_list, parse_list
from nearpeak.numbers import listed, noun

PCIE, NVLINK = "pcie-link", "gpu-links"  # the names of the checks
# At rest a GPU lowers the speed of its link to save power, never its lanes, and so do bridges on
# its card, as AMD's have them. In these performance states (nvmlPstates_t: 0 is the fastest) it
# works, and its link has the full speed. AMD's GPUs have no such fact here.
AWAKE = ("P0", "P1", "P2")


def gpu_link_checks(patient: Patient) -> Iterator[Diagnosis]:
    """Every finding about the links of GPUs; none if all are sound."""
    yield from _pcie(patient, _gpus(patient))
    yield from _nvlinks(patient)


def nic_link_checks(patient: Patient) -> Iterator[Diagnosis]:
    """Every finding about the links between NICs and the CPU; none if all are sound."""
    yield from _pcie(patient, _nics(patient))


class _Device(NamedTuple):
    name: str  # `GPU 0`
    pci: str
    link: PcieLink  # its own
    awake: bool  # the links from it to the CPU have their full speed, if they are sound


def _gpus(patient: Patient) -> Iterator[_Device]:
    for gpu in patient.machine.gpus:
        if gpu.host_link == "pcie":
            awake = patient.nvidia.text(f"{_folder(gpu)}/performance_state") in AWAKE
            yield _Device(f"GPU {gpu.index}", gpu.pci, _own_link(patient, gpu), awake)


def _nics(patient: Patient) -> Iterator[_Device]:
    """The NICs, whose links keep their speed at rest."""
    for nic in patient.machine.nics:
        if nic.pci:
            link = links_to(patient.tree, nic.pci, patient.machine.virtual)[-1]
            yield _Device(f"NIC {nic.verbs or nic.name}", nic.pci, link, True)


def _pcie(patient: Patient, devices: Iterable[_Device]) -> Iterator[Diagnosis]:
    """Checks the lanes of each link between these devices and the CPU, and the speed of those with
    an awake device below."""
    links: dict[str, PcieLink] = {}
    below: dict[str, list[_Device]] = defaultdict(list)
    for device in devices:
        above = links_to(patient.tree, device.pci, patient.machine.virtual)[:-1]
        on_the_way = {f"the PCIe link above, of {link.device},": link for link in above}
        # Functions of one card share its link.
        on_the_way[f"the PCIe link of {device.pci.partition('.')[0]}"] = device.link
        for link_name, link in on_the_way.items():
            links[link_name] = link
            below[link_name].append(device)
    for link_name, link in links.items():
        awake = any(device.awake for device in below[link_name])
        if missing := link.fault if awake else link.narrow:
            yield warn(
                PCIE,
                f"{listed([device.name for device in below[link_name]])}: {link_name} has"
                f" {missing}",
                "see dmesg for errors of the device (AER), seat its card or riser anew, and try"
                " another slot; the firmware may limit a slot, too",
            )


def _own_link(patient: Patient, gpu: Gpu) -> PcieLink:
    """The link of a GPU as NVML reports it, else as the kernel does."""
    facts, folder = patient.nvidia, _folder(gpu)
    link = links_to(patient.tree, gpu.pci, patient.machine.virtual)[-1]
    if gpu.vendor != "nvidia" or not facts.exists(f"{folder}/pcie_width_most"):
        return link
    return PcieLink(
        device=gpu.pci,
        lanes=facts.natural(f"{folder}/pcie_width"),
        most_lanes=facts.natural(f"{folder}/pcie_width_most"),
        gts=GENERATIONS_GTS.get(facts.natural(f"{folder}/pcie_generation_now")),
        # In a virtual machine the driver does not see the slot either.
        most_gts=None
        if patient.machine.virtual
        else GENERATIONS_GTS.get(facts.natural(f"{folder}/pcie_generation")),
    )


def _nvlinks(patient: Patient) -> Iterator[Diagnosis]:
    """Finds GPUs with fewer active NVLinks than their model has, or than others of their kind."""
    active: dict[str, dict[int, list[int]]] = defaultdict(dict)  # of each GPU, by model
    for gpu in patient.machine.gpus:
        if gpu.vendor == "nvidia":
            active[gpu.name][gpu.index] = patient.nvidia.indices(_folder(gpu), "nvlink")
    for name, links_of in active.items():
        model = next((model for model in MODELS if model.fits(name)), None)
        switched = _to_switches(patient, links_of)
        most = max(map(len, links_of.values()))
        if model and _has_all(patient, switched):
            most = max(most, model.links)
        alike: dict[str, list[int]] = defaultdict(list)
        for index, links in links_of.items():
            if len(links) < most:
                alike[format_list(links)].append(index)
        on_board = True in switched if model is None else not model.bridged
        for left, gpus in alike.items():
            few = f"{noun(len(gpus), 'GPU')} {format_list(gpus)} ({name}): {_share(left, most)}"
            if not on_board and not (left and model):
                yield ok(
                    NVLINK, f"{few}, as {'with fewer bridges' if left else 'without a bridge'}"
                )
            elif left:
                yield warn(
                    NVLINK,
                    few,
                    "see nvidia-smi nvlink -s and -e; reset the GPUs, or have the board checked",
                )
            else:
                yield (bad if model and not patient.machine.virtual else warn)(
                    NVLINK,
                    f"{few}: data go by PCIe",
                    "see nvidia-smi nvlink -s, and whether nvidia-fabricmanager runs; in a virtual"
                    " machine, on its host",
                )


def _share(left: str, most: int) -> str:
    """`12 of 18 NVLinks are active (0-11)`."""
    if not left:
        return f"none of {most} NVLinks is active"
    return f"{len(parse_list(left))} of {most} NVLinks are active ({left})"


def _to_switches(patient: Patient, links_of: Mapping[int, list[int]]) -> set[bool]:
    """True is among them if a link leads to a switch, False if one leads elsewhere."""
    return {
        patient.nvidia.text(f"{FACTS}/gpu{index}/nvlink{link}").endswith("to switch")
        for index, links in links_of.items()
        for link in links
    }


def _has_all(patient: Patient, switched: set[bool]) -> bool:
    """True if sound GPUs have all links of their model here.

    In a virtual machine those to GPUs of others are inactive: all, if it has one GPU only; without
    switches, as many as lead there.
    """
    if patient.machine.virtual and False in switched:
        return False
    return bool(switched) or len(patient.nvidia.indices(FACTS, "gpu")) > 1


def _folder(gpu: Gpu) -> str:
    return f"{FACTS}/gpu{gpu.index}"
