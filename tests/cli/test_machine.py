# SPDX-License-Identifier: Apache-2.0
"""`nearpeak machine`, as a user runs it."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import msgspec
import pytest
from typer.testing import CliRunner, Result

from nearpeak.cli.main import build_app
from nearpeak.errors import UserError
from nearpeak.launching import hosts, paths, peer_copies
from nearpeak.machine import discover as discovery
from nearpeak.machine import doctor
from nearpeak.machine.machine import Diagnosis, Machine, Nic, Provenance
from nearpeak.machine.sysfs import from_sysfs

MACHINES = Path(__file__).parent.parent / "machines"
OK = Diagnosis(severity="ok", id="cores", message="8 cores")
WARN = Diagnosis(severity="warn", id="governor", message="[red]slow", hint="make it fast")
BAD = Diagnosis(severity="bad", id="load", message="busy", hint="wait")


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


def check(*words: str) -> Result:
    words = ("machine", "--check", *words)
    return CliRunner().invoke(build_app(), words, catch_exceptions=False)


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


def test_cxl_memory_is_marked(pretend: Callable[[str], None]) -> None:
    pretend("cxl-vm")
    told = run()
    assert "256 MiB (CXL)" in told
    assert "CXL memory of NUMA node 2, cores of node 0 (distance 17)" in told


def test_gpus_and_their_links(
    pretend: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    pretend("power9-ac922")
    lines = [" ".join(line.split()) for line in run().splitlines()]
    assert "3 Tesla V100-SXM2-16GB 0035:03:00.0 8 15.75 GiB 898 nvlink 50 mlx5_3:1" in lines
    assert "1 nvlink 50 nvlink 50 cross-socket * cross-socket * cross-socket *" in lines
    assert "* GPUs without peer access: copies go through host memory" in lines
    assert any(line.startswith("gpu-gpu cross-socket GPUs 0 and 3") for line in lines)


def test_empty_nodes_are_one_row(
    pretend: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    pretend("gh200-quad")
    lines = [" ".join(line.split()) for line in run().splitlines()]
    assert "0 72 0-71 unknown 10 40 40 40 80 120 120 120" in lines
    assert "5-11,13-19,21-27,29-35 0 none" in lines


def test_packages_that_the_firmware_does_not_number(pretend: Callable[[str], None]) -> None:
    pretend("mi300x")
    assert "112 cores, packages not known, SMT 2" in run()


def test_links_of_packages(pretend: Callable[[str], None], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    pretend("mi300x-cpx")
    lines = [" ".join(line.split()) for line in run().splitlines()]
    assert "GPU 0-7 8-15 16-23 24-31 32-39 40-47 48-55 56-62" in lines
    assert "56-62 xgmi xgmi xgmi xgmi xgmi xgmi xgmi" in lines


def test_interfaces_of_one_port(pretend: Callable[[str], None]) -> None:
    pretend("dgx-spark")
    note = "enP2p1s0f0np0 and enp1s0f0np0 are one port of 25 GB/s, on two PCIe functions."
    assert note in run()


def test_rates_below_the_data_sheet(
    pretend: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    pretend("mi300x")
    machine = discovery.discover()
    links = [msgspec.structs.replace(link, gbs=64.0, driver_gbs=50.0) for link in machine.gpu_links]
    slow = msgspec.structs.replace(machine, gpu_links=links)
    monkeypatch.setattr(discovery, "discover", lambda: slow)
    assert "Links of xGMI have their data sheet's rate; the driver says 50 GB/s" in run()


def test_notes_on_gpus_are_shown(
    pretend: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
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


@pytest.mark.parametrize(("findings", "status"), [([OK, WARN], 0), ([OK, WARN, BAD], 1)])
@pytest.mark.parametrize("form", [[], ["--json"]])
def test_only_what_is_bad_fails(
    monkeypatch: pytest.MonkeyPatch, findings: list[Diagnosis], status: int, form: list[str]
) -> None:
    monkeypatch.setattr(doctor, "examine", lambda **_: findings)
    result = check(*form)
    assert result.exit_code == status
    for finding in findings:
        assert finding.message in result.output
        assert finding.hint in result.output


def test_what_nodes_of_a_job_have_in_common_is_one_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    here = discovery.discover()
    other = msgspec.structs.replace(here, cpu_model="Other CPU", diagnoses=[OK, BAD])
    monkeypatch.setattr(doctor, "examine", lambda **_: [OK, WARN])
    monkeypatch.setattr(paths, "hosts_of_job", lambda: ["a", "b", "c", "d"])

    def describe(
        here: Machine, hosts: list[str], remote_shell: None, ranks: int, *, copies: bool
    ) -> dict[str, Machine | str]:
        assert (hosts, remote_shell, ranks, copies) == (["a", "b", "c", "d"], None, 2, False)
        return {"a": here, "b": other, "c": here, "d": "no answer"}

    monkeypatch.setattr(hosts, "describe", describe)
    result = check()
    assert result.exit_code == 1
    lines = [" ".join(line.split()) for line in result.output.splitlines()]
    assert "ok cores a, b, c: 8 cores" not in lines
    assert "ok cores 8 cores" in lines
    assert "warn governor a, c: [red]slow" in lines
    assert "bad load b: busy" in lines
    assert "Hosts that are alike: a, c" in lines
    assert f"b differs: CPU: Other CPU, here {here.cpu_model}" in lines
    assert "d does not say what it is: no answer" in lines
    told = json.loads(check("--json").output)
    assert [one["id"] for one in told["nodes"]["b"]] == ["cores", "load"]
    assert (list(told["differ"]), told["unknown"]) == (["b"], {"d": "no answer"})


def test_this_machine_is_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "ucx.conf").write_text("UCX_TLS=tcp\n")
    monkeypatch.chdir(tmp_path)
    result = check("--json", "--ranks", "1")
    told = json.loads(result.output)
    assert told["schema"] == 1
    assert told["ranks"] == 1
    found = {finding["id"]: finding for finding in told["findings"]}
    assert found["settings-file"]["severity"] == "bad"
    assert found["cores"]["severity"] == "ok"
    assert result.exit_code == 1


def test_more_ranks_than_cores_is_bad() -> None:
    assert check("--ranks", "100000").exit_code == 1


@pytest.mark.parametrize("words", [["--ranks", "0"], ["--ranks", "two"], ["--what"]])
def test_bad_options_of_a_check(words: list[str]) -> None:
    assert check(*words).exit_code == 2


def test_a_check_is_of_named_hosts_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "examine", lambda **_: [OK])
    hosts = f"{os.uname().nodename},192.0.2.99"
    result = check("--hosts", hosts, "--remote-shell", "false")
    assert result.exit_code == 1
    assert "192.0.2.99 does not say what it is" in result.output


@pytest.mark.parametrize("words", [("--all-pairs",), ("--record", "a"), ("--picture", "a.svg")])
def test_a_check_goes_with_nothing_that_shows_the_machine(words: tuple[str, ...]) -> None:
    with pytest.raises(UserError, match=f"and --json: leave out {words[0]}"):
        check(*words)


@pytest.mark.parametrize("words", [("--ranks", "4"), ("--copies",)])
def test_some_options_are_of_a_check(words: tuple[str, ...]) -> None:
    with pytest.raises(UserError, match=f"{words[0]} goes with --check"):
        run(*words)


def test_copies_are_compared_where_they_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []

    def examine(**_: object) -> list[Diagnosis]:
        made.append("examined")
        return [OK]

    def compare(_: Machine) -> list[Diagnosis]:
        made.append("copied")
        return [BAD]

    monkeypatch.setattr(doctor, "examine", examine)
    monkeypatch.setattr(peer_copies, "compare_copies", compare)
    assert check().exit_code == 0
    assert check("--copies").exit_code == 1
    assert made == ["examined", "copied", "examined"]  # the speed of PCIe is that of GPUs awake
