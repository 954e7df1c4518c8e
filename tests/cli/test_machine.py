# SPDX-License-Identifier: Apache-2.0
"""`nearpeak machine`, as a user runs it."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner

from nearpeak.cli.main import build_app
from nearpeak.errors import UserError
from nearpeak.machine import discover as discovery
from nearpeak.machine.machine import Nic, Provenance
from nearpeak.machine.sysfs import from_sysfs

MACHINES = Path(__file__).parent.parent / "machines"


@pytest.fixture
def pretend(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Makes this machine look like a recorded one."""

    def become(name: str) -> None:
        machine = from_sysfs(MACHINES / f"{name}.txt")
        monkeypatch.setattr(discovery, "discover", lambda: machine)

    return become


def run(*words: str) -> str:
    result = CliRunner().invoke(build_app(), ["machine", *words], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def test_this_machine() -> None:
    told = run()
    assert os.uname().nodename in told
    assert "host-memory node0" in told
    assert "host-host two-nodes: no hosts given" in told


def test_json() -> None:
    told = json.loads(run("--json"))
    assert told["schema"] == 1
    assert told["machine"]["hostname"] == os.uname().nodename
    named = {path["id"] for path in told["paths"]} | {
        reason.partition(":")[0] for reason in told["missing"]
    }
    assert "host-host same-numa" in named
    assert "host-host cross-numa" in named


def test_hosts() -> None:
    hosts = f"{os.uname().nodename},192.0.2.99"
    told = json.loads(run("--json", "--hosts", hosts, "--remote-shell", "true"))
    path = next(path for path in told["paths"] if path["id"] == "host-host two-nodes")
    assert [end["host"] for end in path["ends"]] == [os.uname().nodename, "192.0.2.99"]
    with pytest.raises(UserError, match="name two"):
        run("--hosts", "alone")
    with pytest.raises(UserError, match=r"host '192\.0\.2\.99' cannot be reached"):
        run("--hosts", hosts, "--remote-shell", "false")
    with pytest.raises(UserError, match="--remote-shell true calls other hosts, and there are"):
        run("--remote-shell", "true")


def test_firmware_drivers_and_settings(
    pretend: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    import msgspec

    pretend("one-gpu")
    provenance = Provenance(bios="Acme 1.2", nvidia_driver="580.1", adapter_firmware={"m": "28.1"})
    found = msgspec.structs.replace(discovery.discover(), provenance=provenance)
    monkeypatch.setattr(discovery, "discover", lambda: found)
    told = run().splitlines()
    for line in ("BIOS: Acme 1.2", "NVIDIA driver: 580.1", "Firmware of m: 28.1"):
        assert line in told


def test_a_large_machine(pretend: Callable[[str], None]) -> None:
    pretend("epyc-nps4")
    told = run()
    assert "128 cores in 2 packages, SMT 2, 256 CPUs usable here" in told
    assert "16 x L3 32 MiB" in told
    assert "64 local memory paths, host-memory node0 to host-memory node7 from node6" in told


def test_gpu_memory_is_marked(pretend: Callable[[str], None]) -> None:
    pretend("power9-ac922")
    assert "15.75 GiB (GPU)" in run()


def test_gpus_and_their_links(
    pretend: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    pretend("power9-ac922")
    lines = [" ".join(line.split()) for line in run().splitlines()]
    assert "3 Tesla V100-SXM2-16GB 0035:03:00.0 8 15.75 GiB 898 nvlink 50" in lines
    assert "1 nvlink 50 nvlink 50 cross-socket * cross-socket * cross-socket *" in lines
    assert "* GPUs without peer access: copies go through host memory" in lines
    assert any(line.startswith("gpu-gpu cross-socket GPUs 0 and 3") for line in lines)


def test_notes_on_gpus_are_shown(
    pretend: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    import msgspec

    pretend("one-gpu")
    noted = msgspec.structs.replace(discovery.discover(), gpu_notes=["GPU 7 is lost"])
    monkeypatch.setattr(discovery, "discover", lambda: noted)
    assert "GPU 7 is lost" in run()


def test_all_pairs(pretend: Callable[[str], None]) -> None:
    pretend("pcie-only")
    told = json.loads(run("--json", "--all-pairs"))
    pairs = [path["id"] for path in told["paths"] if " pair " in path["id"]]
    assert len(pairs) == 6 + 8
    assert len(told["machine"]["gpu_links"]) == 6
    assert "gpu-gpu pair 0-1" not in run()


def test_names_are_not_obeyed_as_markup(
    pretend: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    import msgspec

    pretend("one-socket")
    nic = Nic(name="[red]x[/]", kind="virtual", numa_node=None, rate_gbs=None, addresses=[])
    odd = msgspec.structs.replace(discovery.discover(), hostname="[bold]h", nics=[nic])
    monkeypatch.setattr(discovery, "discover", lambda: odd)
    told = run()
    assert "[bold]h" in told
    assert "[red]x[/]" in told


def test_record(tmp_path: Path) -> None:
    file = tmp_path / "mine.txt"
    assert "look through it" in run("--record", str(file)).replace("\n", " ")
    assert from_sysfs(file).cores == from_sysfs().cores


def test_picture(tmp_path: Path, pretend: Callable[[str], None]) -> None:
    pretend("mi250x-node")
    file = tmp_path / "machine.svg"
    assert str(file) in run("--picture", str(file)).replace("\n", "")
    root = ElementTree.parse(file).getroot()
    assert root.tag.endswith("svg")
    with pytest.raises(UserError, match="cannot write"):
        run("--picture", str(tmp_path / "nowhere" / "machine.svg"))


def test_both_a_record_and_a_picture(tmp_path: Path) -> None:
    files = [tmp_path / "mine.txt", tmp_path / "mine.svg"]
    run("--record", str(files[0]), "--picture", str(files[1]))
    assert sorted(tmp_path.iterdir()) == sorted(files)


def test_a_picture_is_what_its_name_says(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"m\.png: it draws SVG alone, so name it .*m\.svg"):
        run("--picture", str(tmp_path / "m.png"))
    assert not (tmp_path / "m.png").exists()


def test_an_unwritable_file_is_the_users_to_mend(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot write"):
        run("--record", str(tmp_path / "nowhere" / "mine.txt"))
