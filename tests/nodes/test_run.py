# SPDX-License-Identifier: Apache-2.0
"""Runs for real, on network namespaces as nodes over TCP."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made_libraries import made_library
from mpi_launches import SLEEPS

from nearpeak.errors import UserError
from nearpeak.launching.command_lines import Tools
from nearpeak.libraries.build import build_mpi, compiler, kit_for
from nearpeak.libraries.discover import resolve
from nearpeak.libraries.families import is_native
from nearpeak.libraries.library import CommandLine, Settings
from nearpeak.machine.machine import Machine
from nearpeak.machine.places import usable_cores
from nearpeak.nodes import plan
from nearpeak.nodes.journal import Launch, LaunchEnd, NodesJournal, read
from nearpeak.nodes.run import Run, check_library, path_of

NEARPEAK = str(Path(sys.executable).with_name("nearpeak"))
made = sys.modules["made_nodes"]  # loaded by tests/conftest.py
# A stand-in for the program: three ranks on hosts of their own, and a value for each pair. Of more
# than so many rounds it does not end.
PROGRAM = """
import json, sys, time
options = dict(zip(sys.argv[2::2], sys.argv[3::2]))
rounds = [line.replace("-", " ").split() for line in open(options["--rounds"])]
rounds = [[int(node) for node in nodes] for nodes in rounds]
def write(**record):
    with open(options["--jsonl"], "a") as out:
        out.write(json.dumps(record) + "\\n")
ranks = [{"rank": n, "host": f"h{n}", "cpus": CPUS[n]} for n in range(3)]
begin = {"program": "", "version": "", "library_version": None, "clock": {}, "env": {}}
write(record="environment", ranks=ranks, **begin)
for number, nodes in enumerate(rounds):
    ones = [1.0] * (len(nodes) // 2)
    ends = {"first": nodes[::2], "second": nodes[1::2]}
    write(record="pairs", round=number, **ends, latency_us=ones, bandwidth_gbs=ones)
if HANGS:
    time.sleep(600)
"""
# Where ranks share CPUs: the large message is short, and a window of it soon sent.
QUICK = ["--slot-ms", "2", "--large", "32K", "--launches", "4", "--seed", "1"]


@pytest.fixture
def mpich(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its ranks sleep where they wait: five share the CPUs, three of which often only wait."""
    for name, value in SLEEPS.items():
        monkeypatch.setenv(name, value)
    try:
        build_mpi(resolve("mpich"))
    except UserError as error:
        pytest.skip(f"mpich is not there: {error}")


def run(hosts: Any, folder: Path, *words: str) -> tuple[int, str, str]:
    whole = ["--hosts", ",".join(hosts.names), "--remote-shell", hosts.remote_shell]
    done = hosts.run([NEARPEAK, "nodes", "--mpi", "mpich", *whole, *words, "-o", str(folder)])
    return done.returncode, done.stdout, done.stderr


@pytest.mark.usefixtures("mpich")
def test_all_pairs_of_three_nodes(three_hosts: Any, tmp_path: Path) -> None:
    folder = tmp_path / "nodes"
    sent = three_hosts.bytes_sent()
    code, out, err = run(three_hosts, folder, *QUICK)
    assert (code, err) == (0, ""), out
    assert "covers:     3 of 3 pairs (100 %)" in out
    assert "nearpeak-a - nearpeak-c" in out
    found = json.loads((folder / "nodes.json").read_text())
    assert found["complete"]
    assert [pair["nodes"] for pair in found["pairs"]] == [
        ["nearpeak-a", "nearpeak-b"],
        ["nearpeak-a", "nearpeak-c"],
        ["nearpeak-b", "nearpeak-c"],
    ]
    assert all(pair["latency_us"] > 0 and pair["bandwidth_gbs"] > 0 for pair in found["pairs"])
    assert three_hosts.bytes_sent() - sent > 1e6
    assert (folder / "nodes.html").read_text().startswith("<!DOCTYPE html>")

    # A launch that is lacking is made up for, and no other.
    lines = (folder / "nodes.jsonl").read_bytes().splitlines(keepends=True)
    last = max(n for n, line in enumerate(lines) if b'"record":"launch"' in line)
    (folder / "nodes.jsonl").write_bytes(b"".join(lines[:last]))
    assert len(read(folder).launches) == 3
    done = three_hosts.run([NEARPEAK, "nodes", "--resume", "-o", str(folder)])
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert "launch 4 of 4: 3 of 3 rounds" in done.stdout
    assert "launch 3 of 4" not in done.stdout
    assert len(read(folder).launches) == 4


@pytest.mark.usefixtures("mpich")
def test_a_node_that_sends_slowly_is_found(five_hosts: Any, tmp_path: Path) -> None:
    """Its interface sends 200 Mbit/s, where the others are as fast as the CPU."""
    shaped = "tc qdisc add dev veth0 root tbf rate 200mbit burst 64k latency 200ms"
    if five_hosts.run(shaped.split(), host=3).returncode:
        pytest.skip("the kernel cannot slow an interface down (tbf)")
    try:
        code, out, _ = run(five_hosts, tmp_path / "nodes", *QUICK)
    finally:
        five_hosts.run(["tc", "qdisc", "del", "dev", "veth0", "root"], host=3)
    assert code == 1, out
    found = json.loads((tmp_path / "nodes/nodes.json").read_text())
    slow = {(v["kind"], *v["nodes"]) for v in found["verdicts"] if v["metric"] == "bandwidth_gbs"}
    assert ("node", "nearpeak-d") in slow
    assert "slow node" in out.splitlines()[-1]


@pytest.mark.usefixtures("mpich")
def test_a_rank_on_another_node_has_no_figures(three_hosts: Any, tmp_path: Path) -> None:
    """Of two names of one node both ranks run there, which the launch says of itself."""
    names = [*three_hosts.names[:2], three_hosts.addresses[1]]
    whole = ["--hosts", ",".join(names), "--remote-shell", three_hosts.remote_shell]
    folder = tmp_path / "nodes"
    words = [NEARPEAK, "nodes", "--mpi", "mpich", *whole, *QUICK, "-o", str(folder)]
    done = three_hosts.run(words)
    assert done.returncode == 1, done.stdout
    assert "ran on host nearpeak-b, not on" in done.stdout
    assert read(folder).launches == []


ON_FAKE_GPUS = str(Path(__file__).with_name("on_fake_gpus.py"))


@pytest.fixture
def fake_gpus(monkeypatch: pytest.MonkeyPatch, fake_cuda: Path) -> None:
    """The fake driver, whose memory any library may touch, on all hosts."""
    monkeypatch.setenv("NEARPEAK_CUDA_LIBRARY", str(fake_cuda))
    monkeypatch.setenv("NEARPEAK_NVRTC_LIBRARY", "/nowhere/libnvrtc.so")
    monkeypatch.setenv("NEARPEAK_FAKE_CUDA", "reachable=1")


def run_on_gpus(hosts: Any, folder: Path, *words: str, mpi: str = "mpich") -> tuple[int, str, str]:
    whole = ["--hosts", ",".join(hosts.names), "--remote-shell", hosts.remote_shell]
    program = [sys.executable, ON_FAKE_GPUS, "nodes", "--mpi", mpi]
    done = hosts.run([*program, *whole, *words, "-o", str(folder)])
    return done.returncode, done.stdout, done.stderr


@pytest.fixture
def machine() -> Machine:
    """This one."""
    from nearpeak.machine.discover import discover

    return discover()


@pytest.mark.usefixtures("mpich", "fake_gpus")
@pytest.mark.parametrize(
    ("mpi", "fake", "buffers"), [("mpich", "reachable=1", "D,D"), ("mpich+layer", "", "H,D")]
)
def test_gpus_of_two_nodes_rail_by_rail(
    two_hosts: Any,
    machine: Machine,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    mpi: str,
    fake: str,
    buffers: str,
) -> None:
    if sum(map(len, usable_cores(machine).values())) < 2:  # a core for each rail
        pytest.skip("one CPU to run on")
    monkeypatch.setenv("NEARPEAK_FAKE_CUDA", fake)
    folder = tmp_path / "nodes"
    code, out, err = run_on_gpus(two_hosts, folder, *QUICK, "--buffers", buffers, mpi=mpi)
    assert code == 0, out + err
    assert "rails:      2: GPU" in out
    found = json.loads((folder / "nodes.json").read_text())
    assert found["complete"]
    assert (found["buffers"], found["wrong"]) == (buffers, [])
    assert [rail["gpu"] for rail in found["rails"]] == ["0", "1"]
    assert [(pair["nodes"], pair["rail"]) for pair in found["pairs"]] == [
        (["nearpeak-a", "nearpeak-b"], 0),
        (["nearpeak-a", "nearpeak-b"], 1),
    ]
    assert all(pair["latency_us"] > 0 and pair["bandwidth_gbs"] > 0 for pair in found["pairs"])
    assert read(folder).gpus == ["Fake GPU A", "Fake GPU B"] * 2
    modes = {(curve["metric"], curve["mode"]) for curve in found["curves"]}
    assert {("bandwidth_gbs", mode) for mode in ("together", "inside", "host")} <= modes

    # A launch that is lacking is made up for, on the same GPUs.
    lines = (folder / "nodes.jsonl").read_bytes().splitlines(keepends=True)
    last = max(n for n, line in enumerate(lines) if b'"record":"launch"' in line)
    (folder / "nodes.jsonl").write_bytes(b"".join(lines[:last]))
    words = [sys.executable, ON_FAKE_GPUS, "nodes", "--resume", "-o", str(folder)]
    done = two_hosts.run(words)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "launch 4 of 4: 25 of 25 rounds" in done.stdout
    assert len(read(folder).launches) == 4


def faulty_mpich(folder: Path) -> Path:
    """The library that makes mistakes in messages between two ranks, to be preloaded."""
    source = Path(__file__).parents[1] / "mpi" / "faulty_pt2pt.cpp"
    include = kit_for(resolve("mpich")).header.parent
    shim = folder / "libfaulty.so"
    flags = ["-std=c++17", "-shared", "-fPIC", f"-I{include}"]
    subprocess.run([*compiler(), *flags, str(source), "-o", str(shim)], check=True)
    return shim


@pytest.mark.usefixtures("mpich", "fake_gpus")
def test_a_flipped_byte_between_gpus_is_reported(
    two_hosts: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the long messages to the second node of rail 0; those of the trial have other lengths."""
    for name, value in {
        "LD_PRELOAD": str(faulty_mpich(tmp_path)),
        "NEARPEAK_FAULT": "dropped",
        "NEARPEAK_FAULTY_BYTES": "1004",
        "NEARPEAK_FAULTY_RANK": "1",
    }.items():
        monkeypatch.setenv(name, value)
    folder = tmp_path / "nodes"
    short = [word.replace("32K", "1004") for word in QUICK]
    words = [*short, "--buffers", "D,D", "--gpus", "0"]
    code, out, err = run_on_gpus(two_hosts, folder, *words)
    assert code == 1, out + err
    found = json.loads((folder / "nodes.json").read_text())
    assert found["wrong_pairs"] == 1
    assert found["wrong"][0].startswith("nearpeak-a, GPU 0 to nearpeak-b, GPU 0: ")
    assert "1 pair received wrong data" in out.splitlines()[-1]


@pytest.mark.usefixtures("mpich", "fake_gpus")
def test_a_library_that_takes_no_gpu_buffers_is_bad_input(
    two_hosts: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NEARPEAK_FAKE_CUDA", "")
    words = [*QUICK, "--buffers", "D,D", "--gpus", "0"]
    code, _, err = run_on_gpus(two_hosts, tmp_path / "nodes", *words)
    assert code == 2
    assert "mpich does not take buffers in GPU memory (ended by SIGSEGV" in err
    assert err.strip().endswith("choose another with --mpi, or measure mpich+layer")
    assert not (tmp_path / "nodes").exists()


@pytest.mark.usefixtures("mpich", "fake_gpus")
def test_all_nodes_that_lack_a_gpu_are_named_before_anything_is_measured(
    three_hosts: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lacking = "devices=1@nearpeak-b,devices=0@nearpeak-c"
    monkeypatch.setenv("NEARPEAK_FAKE_CUDA", f"reachable=1,{lacking}")
    folder = tmp_path / "nodes"
    code, out, err = run_on_gpus(three_hosts, folder, *QUICK, "--buffers", "D,D")
    assert code == 1, out + err
    last = out.splitlines()[-1]
    assert last.startswith("Exit status 1: launch 1 failed: 2 of 3 nodes stopped it: ")
    assert "nearpeak-b (GPU 1: there is no device '1'); nearpeak-c (buffers other than H" in last
    assert last.endswith(": repair them, or measure without them")
    assert "launch 2" not in out
    recorded = read(folder)
    assert (recorded.launches, len(recorded.failed)) == ([], 1)


def measure(
    folder: Path, machine: Machine, seconds: float | None, *, hangs: bool = False, **more: object
) -> tuple[Run, list[str]]:
    """A run of three nodes on the stand-in, that is begun or goes on, and what it has told.
    `more`: of what is chosen."""
    of = made.chosen(3, launches=4, **more)
    path = path_of(machine, of)
    program = folder / "program.py"
    cpus = [end.cpus for end in path.ends]
    program.write_text(f"CPUS, HANGS = {cpus}, {hangs}\n{PROGRAM}")
    tools = Tools(
        lambda _library, launch: CommandLine(argv=[sys.executable, *launch.program], env={}),
        lambda _library: program,
        lambda: program,
    )
    new = not (folder / "nodes.jsonl").exists()
    journal = NodesJournal(folder, made.begin(of) if new else None)
    told: list[str] = []
    run = Run(journal, made_library("made"), Settings(), path, tools, told.append, seconds)
    assert run.run() is None
    journal.close()
    return run, told


def test_the_time_of_a_job_bounds_a_run_and_another_one_completes_it(
    tmp_path: Path, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, told = measure(tmp_path, machine, 0.0)
    assert run.cut_short
    assert told == ["launch 1 is not begun: the job has no time left for it"]

    # One that takes longer than was guessed is ended, and does not count.
    monkeypatch.setattr(plan, "LAUNCH_SECONDS", 0.0)
    run, told = measure(tmp_path, machine, 1.0, hangs=True)
    assert run.cut_short
    assert told[-1] == "launch 1 stopped: the job has no time left for it"
    assert read(tmp_path).launches == []

    run, told = measure(tmp_path, machine, None)
    assert not run.cut_short
    assert told[-1] == "launch 4 of 4: 3 of 3 rounds"
    assert len(read(tmp_path).launches) == 4
    assert run.expected() == 0


def test_a_launch_that_ends_no_round_is_ended(tmp_path: Path, machine: Machine) -> None:
    run, told = measure(tmp_path, machine, None, hangs=True, launch_limit_seconds=0.3)
    assert not run.cut_short
    assert told[-1].startswith("launch 1 hung: no round within 0.3 s; ")
    assert [end.status for end in read(tmp_path).failed] == ["hung"]


def test_how_long_launches_take_is_learnt_from_the_last_one(
    tmp_path: Path, machine: Machine
) -> None:
    def usual(pairs: Any, _together: bool) -> Any:
        return np.ones(len(pairs)), np.ones(len(pairs))

    of = made.chosen(3, launches=4)
    made.record(tmp_path, of, usual, launches=2)  # a second each
    run, told = measure(tmp_path, machine, 1.9)
    assert run.cut_short == (len(read(tmp_path).launches) < 4)
    assert "launch 3 is not begun" not in str(told)  # by the first guess it would take 2.1 s


def test_nccl_is_refused() -> None:
    nccl = made_library("nccl", family="nccl")
    with pytest.raises(UserError, match=r"nccl is no MPI library.*`nearpeak study` measures NCCL"):
        check_library(nccl, is_native(nccl))


def test_a_folder_that_has_a_run_is_not_written_over(tmp_path: Path) -> None:
    NodesJournal(tmp_path, made.begin(made.chosen(4))).close()
    with pytest.raises(UserError, match="complete it with --resume"):
        NodesJournal(tmp_path, made.begin(made.chosen(4)))


def test_half_a_launch_does_not_count(tmp_path: Path) -> None:
    journal = NodesJournal(tmp_path, made.begin(made.chosen(4)))
    journal.append(Launch(launch=0, stage="whole", together=3, rounds=9))
    journal.close()
    with (tmp_path / "nodes.jsonl").open("ab") as file:
        file.write(b'{"record":"round"')
    journal = NodesJournal(tmp_path)
    journal.append(LaunchEnd(launch=0, status="ok", message="", seconds=1.0))
    journal.close()
    recorded = read(tmp_path)
    assert recorded.launches == []
    assert [end.launch for end in recorded.failed] == [0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "has no line: begin anew, without --resume"),
        ("{}\n", "cannot be believed"),
        ('{"record":"round","round":0,"first":[0]}\n', "cannot be believed"),
    ],
)
def test_another_file_is_bad_input(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "nodes.jsonl").write_text(text)
    with pytest.raises(UserError, match=message):
        read(tmp_path)
