# SPDX-License-Identifier: Apache-2.0
"""The facts of this machine and its libraries that numbers depend on."""

import hashlib
from pathlib import Path
from types import ModuleType

import msgspec
import pytest

from nearpeak.launching import fingerprints
from nearpeak.launching.fingerprints import fingerprint, settings_digest
from nearpeak.libraries.library import Settings
from nearpeak.machine.discover import discover

MACHINES = Path(__file__).parents[1] / "machines"
pytestmark = pytest.mark.usefixtures("no_modules")


def test_settings_that_differ_in_anything_have_another_digest() -> None:
    settings = Settings(name="x", env={"A": "1"})
    again = Settings(name="x", env={"A": "1"})
    assert settings_digest(settings) == settings_digest(again)
    for changed in ({"unset": ["B"]}, {"env": {"A": "2"}}, {"flags": ["-x"]}):
        other = msgspec.structs.replace(settings, **changed)
        assert settings_digest(other) != settings_digest(settings)


@pytest.mark.parametrize("name", sorted(file.stem for file in MACHINES.glob("*.txt")))
def test_a_fingerprint_of_every_recorded_machine(
    standins: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(fingerprints, "environment", lambda _library: {})
    root = MACHINES / f"{name}.txt"
    machine = discover(root)
    tools = standins.make_tools(tmp_path)
    made = fingerprint(machine, standins.small_plan().contenders, tools)
    assert made.machine["host"] == machine.hostname
    assert len([key for key in made.machine if key.startswith("gpu ")]) == len(machine.gpus)
    assert ("nvidia" in made.driver) == (machine.provenance.nvidia_driver is not None)
    program = standins.FAKE.read_bytes()
    assert made.build["nearpeak-mpi fake"] == hashlib.sha256(program).hexdigest()
    assert "nearpeak-native" in made.build
    assert set(made.library) == {"fake version", "fake path", "fake@default settings"}
    assert made == fingerprint(machine, standins.small_plan().contenders, tools)


def test_what_sysfs_tells_of_clocks_and_adapters(
    standins: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fingerprints, "environment", lambda _library: {})
    root = tmp_path / "machine.txt"
    root.write_text(
        (MACHINES / "one-socket.txt").read_text()
        + "\nsys/devices/system/cpu/cpu0/microcode/version: 0x2b\n"
        + "sys/class/infiniband/mlx5_0/fw_ver: 28.39.1002\n"
        + "sys/class/dmi/id/bios_version: 2.4\n"
        + "nvidia/driver: 580.1\nnvidia/cuda: 13.0\n"
    )
    tools = standins.make_tools(tmp_path)
    made = fingerprint(discover(root), standins.small_plan().contenders, tools)
    assert made.machine["governor"] == "powersave"
    assert made.machine["microcode"] == "0x2b"
    assert made.machine["bios"] == "2.4"
    assert made.driver == {"nvidia": "580.1", "cuda": "13.0", "mlx5_0 firmware": "28.39.1002"}
