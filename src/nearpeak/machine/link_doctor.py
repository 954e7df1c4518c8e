# SPDX-License-Identifier: Apache-2.0
"""Finds links of GPUs and NICs that have less than they could: PCIe and NVLink."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from nearpeak.machine.gpus.nvidia import FACTS
from nearpeak.machine.gpus.nvlinks import MODELS
from nearpeak.machine.gpus.pci import GENERATIONS_GTS
from nearpeak.machine.machine import Diagnosis, Gpu
from nearpeak.machine.patient import Patient, bad, ok, warn
from nearpeak.machine.pcie_links import PcieLink, links_to
from nearpeak.machine.tree import format_list, parse_list
from nearpeak.numbers import listed, noun

PCIE, NVLINK = "pcie-link", "gpu-links"  # the names of the checks
# At rest a GPU lowers the speed of its link to save power, never its lanes. In these performance
# states (nvmlPstates_t: 0 is the fastest) it works, and its link has the full speed.
AWAKE = ("P0", "P1", "P2")


def gpu_link_checks(patient: Patient) -> Iterator[Diagnosis]:
    """Every finding about the links of GPUs; none if all are sound."""
    yield from _pcie(patient, _gpus(patient))
    yield from _nvlinks(patient)


def nic_link_checks(patient: Patient) -> Iterator[Diagnosis]:
    """Every finding about the links between NICs and the CPU; none if all are sound."""
    yield from _pcie(patient, _nics(patient))


def _gpus(patient: Patient) -> Iterator[tuple[str, str, str]]:
    """The name of each GPU, its PCI address, and the fault of its own link or nothing."""
    for gpu in patient.machine.gpus:
        if gpu.host_link == "pcie":
            link = _own_link(patient, gpu)
            awake = patient.nvidia.text(f"{_folder(gpu)}/performance_state") in AWAKE
            yield f"GPU {gpu.index}", gpu.pci, link.fault if awake else link.narrow


def _nics(patient: Patient) -> Iterator[tuple[str, str, str]]:
    """The same of each NIC, whose link keeps its speed at rest."""
    for nic in patient.machine.nics:
        if nic.pci:
            link = links_to(patient.tree, nic.pci, patient.machine.virtual)[-1]
            yield f"NIC {nic.verbs or nic.name}", nic.pci, link.fault


def _pcie(patient: Patient, devices: Iterable[tuple[str, str, str]]) -> Iterator[Diagnosis]:
    """Checks the lanes and the speed of each link between these devices and the CPU."""
    faults: dict[tuple[str, str], list[str]] = defaultdict(list)  # of a link: who is below it
    for name, pci, fault in devices:
        for link in links_to(patient.tree, pci, patient.machine.virtual)[:-1]:
            faults[f"the PCIe link above, of {link.device},", link.fault].append(name)
        # Functions of one card share its link.
        faults[f"the PCIe link of {pci.partition('.')[0]}", fault].append(name)
    for (link_name, missing), names in faults.items():
        if missing:
            yield warn(
                PCIE,
                f"{listed(names)}: {link_name} has {missing}",
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
    """True among them: a link leads to a switch; False: one leads elsewhere; empty: none is active."""
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
