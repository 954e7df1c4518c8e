# SPDX-License-Identifier: Apache-2.0
"""hwloc's XML and /sys give the same machine."""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from nearpeak.machine.lstopo import from_lstopo, lstopo_xml
from nearpeak.machine.machine import Machine
from nearpeak.machine.sysfs import from_sysfs
from nearpeak.machine.tree import parse_list, parse_recording

MACHINES = Path(__file__).parent.parent / "machines"
XML = sorted(file.stem for file in MACHINES.glob("*.xml"))
ALL = sorted(file.stem for file in MACHINES.glob("*.txt"))
MASKS = {
    "core_cpus_list": ["core_cpus", "thread_siblings"],
    "shared_cpu_list": ["shared_cpu_map"],
    "cpulist": ["cpumap"],
}


HWLOC_READS = ("proc/cpuinfo", "proc/meminfo", "proc/driver", "sys/devices/system")


@pytest.mark.parametrize(
    ("subtype", "memory"), [("GPUMemory", "gpu"), ("CXL-DRAM", "cxl"), ("DRAM", "host")]
)
def test_kinds_of_memory_by_hwlocs_words(
    recorded: Callable[[str], Path], subtype: str, memory: str
) -> None:
    xml = (MACHINES / "two-sockets-smt.xml").read_text(encoding="utf-8")
    marked = xml.replace('type="NUMANode"', f'type="NUMANode" subtype="{subtype}"')
    machine = from_lstopo(marked, recorded("two-sockets-smt"))
    assert {node.memory for node in machine.numa_nodes} == {memory}


def as_sysfs(machine: Machine) -> Machine:
    return msgspec.structs.replace(machine, source="sysfs")


def mask(cpus: list[int]) -> str:
    """A kernel mask: words of 32 bits, the highest first."""
    value = sum(1 << cpu for cpu in cpus)
    words = [f"{value & 0xFFFFFFFF:08x}"]
    while value := value >> 32:
        words.append(f"{value & 0xFFFFFFFF:08x}")
    return ",".join(reversed(words))


def with_masks(files: dict[str, str]) -> dict[str, str]:
    """The same lists as masks too, which hwloc reads and recordings leave out."""
    masks: dict[str, str] = {}
    packages: dict[str, list[str]] = {}
    for path, text in files.items():
        folder, _, name = path.rpartition("/")
        for other in MASKS.get(name, []):
            masks[f"{folder}/{other}"] = mask(parse_list(text))
        if name == "physical_package_id":
            packages.setdefault(text, []).append(folder)
    for folders in packages.values():
        cpus = mask([int(folder.split("/")[-2].removeprefix("cpu")) for folder in folders])
        for folder in folders:
            masks |= {f"{folder}/package_cpus": cpus, f"{folder}/core_siblings": cpus}
    return files | masks


@pytest.fixture
def unpacked() -> Iterator[Callable[[str], Path]]:
    """A recorded machine as files, for hwloc: thousands, which a disk takes a millisecond for each
    and pytest would keep."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None) as folder:

        def unpack(name: str) -> Path:
            text = (MACHINES / f"{name}.txt").read_text(encoding="utf-8")
            for path, content in with_masks(parse_recording(text)).items():
                if path.startswith(HWLOC_READS):
                    file = Path(folder, path)
                    file.parent.mkdir(parents=True, exist_ok=True)
                    file.write_text(f"{content}\n", encoding="utf-8")
            return Path(folder)

        yield unpack


def test_there_is_recorded_xml() -> None:
    assert len(XML) >= 2


@pytest.mark.parametrize("name", XML)
def test_recorded_xml_says_what_sysfs_says(name: str, recorded: Callable[[str], Path]) -> None:
    root = recorded(name)
    machine = from_lstopo((MACHINES / f"{name}.xml").read_text(encoding="utf-8"), root)
    assert machine.source == "lstopo"
    assert as_sysfs(machine) == from_sysfs(root)


def hwloc_can_read(name: str) -> bool:
    """Hwloc makes up the packages and memory sizes that a recording lacks, and lists no core that
    belongs to no NUMA node: then `/sys` is read instead."""
    machine = from_sysfs(MACHINES / f"{name}.txt")
    facts = {core.package for core in machine.cores}
    facts |= {node.memory_bytes for node in machine.numa_nodes}
    return None not in facts and not machine.cores_of_no_node


@pytest.mark.parametrize("name", [name for name in ALL if hwloc_can_read(name)])
def test_hwloc_reads_recorded_machines_as_we_do(
    name: str, recorded: Callable[[str], Path], unpacked: Callable[[str], Path]
) -> None:
    if shutil.which("lstopo") is None:
        pytest.skip("no lstopo on PATH (package hwloc)")
    xml = lstopo_xml(unpacked(name))
    assert xml is not None
    assert as_sysfs(from_lstopo(xml, recorded(name))) == from_sysfs(recorded(name))


def test_both_say_the_same_of_this_machine() -> None:
    before = from_sysfs()
    xml = lstopo_xml()
    if xml is None:
        pytest.skip("no lstopo on PATH (package hwloc)")
    machine = from_lstopo(xml)
    after = from_sysfs()
    for known, low, high in zip(
        machine.numa_nodes, before.numa_nodes, after.numa_nodes, strict=True
    ):
        # A hypervisor may add or take memory meanwhile.
        sizes = sorted([low.memory_bytes or 0, high.memory_bytes or 0])
        assert sizes[0] <= (known.memory_bytes or 0) <= sizes[1]

    def without_memory(machine: Machine) -> Machine:
        nodes = [msgspec.structs.replace(node, memory_bytes=None) for node in machine.numa_nodes]
        return msgspec.structs.replace(as_sysfs(machine), numa_nodes=nodes)

    assert without_memory(machine) == without_memory(after)


def test_settings_of_hwloc_do_not_hide_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    if lstopo_xml() is None:
        pytest.skip("no lstopo on PATH (package hwloc)")
    monkeypatch.setenv("HWLOC_SYNTHETIC", "package:3 core:7 pu:1")
    assert len(from_lstopo(lstopo_xml() or "").cores) == len(from_sysfs().cores)


def test_no_lstopo_is_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert lstopo_xml() is None


def test_a_failing_lstopo_is_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = tmp_path / "lstopo"
    program.write_text("#!/bin/sh\necho '<topology/>'\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert lstopo_xml() is None


@pytest.mark.parametrize(
    "xml",
    [
        "not XML",
        "<topology/>",
        '<topology><object type="Machine"><object type="Core"/></object></topology>',
        '<topology><object type="NUMANode" os_index="0" cpuset="0xf...f"/></topology>',
    ],
)
def test_other_xml_is_refused(xml: str) -> None:
    with pytest.raises(ValueError, match=r"no topology|invalid literal"):
        from_lstopo(xml)
