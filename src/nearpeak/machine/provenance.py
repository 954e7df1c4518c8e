# SPDX-License-Identifier: Apache-2.0
"""Firmware, drivers and settings of a machine: what changes under the same hardware."""

from collections.abc import Iterator

from nearpeak.machine.gpus.nvidia import FACTS, nvidia_facts
from nearpeak.machine.machine import Provenance
from nearpeak.machine.nics import INFINIBAND
from nearpeak.machine.sysfs import CPU
from nearpeak.machine.tree import Tree

DMI = "sys/class/dmi/id"
PRODUCT = (f"{DMI}/sys_vendor", f"{DMI}/product_name")
BIOS = (f"{DMI}/bios_vendor", f"{DMI}/bios_version", f"{DMI}/bios_date")
MICROCODE = f"{CPU}/cpu0/microcode/version"
AMDGPU = "sys/module/amdgpu/version"


def read_provenance(tree: Tree) -> Provenance:
    """Reads versions and settings from the kernel and NVIDIA's library."""
    nvidia = nvidia_facts(tree)
    firmware = ((name, tree.text(f"{INFINIBAND}/{name}/fw_ver")) for name in tree.names(INFINIBAND))
    return Provenance(
        product=_joined(tree, PRODUCT),
        bios=_joined(tree, BIOS),
        microcode=tree.text(MICROCODE) or tree.fields("proc/cpuinfo").get("microcode"),
        governor=", ".join(governors(tree)) or None,
        nvidia_driver=nvidia.get(f"{FACTS}/driver"),
        cuda_driver_api=nvidia.get(f"{FACTS}/cuda"),
        amdgpu_driver=tree.text(AMDGPU) or None,
        adapter_firmware={name: version for name, version in firmware if version},
    )


def governors(tree: Tree) -> list[str]:
    """The frequency governors of the CPUs, sorted, without repetition."""
    folder = f"{CPU}/cpufreq"
    policies = tree.names(folder, r"policy\d+")
    return sorted({tree.text(f"{folder}/{name}/scaling_governor") for name in policies} - {""})


def labelled_facts(provenance: Provenance) -> Iterator[tuple[str, str]]:
    """The known facts, each with its label."""
    names = {
        "Product": provenance.product,
        "BIOS": provenance.bios,
        "Microcode": provenance.microcode,
        "Governor": provenance.governor,
        "NVIDIA driver": provenance.nvidia_driver,
        "CUDA driver API": provenance.cuda_driver_api,
        "amdgpu driver": provenance.amdgpu_driver,
    }
    firmware = provenance.adapter_firmware.items()
    names |= {f"Firmware of {adapter}": version for adapter, version in firmware}
    return ((name, value) for name, value in names.items() if value)


def _joined(tree: Tree, paths: tuple[str, ...]) -> str | None:
    return " ".join(filter(None, map(tree.text, paths))) or None
