# SPDX-License-Identifier: Apache-2.0
"""`nearpeak mpi`, run as a user runs it."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from made_libraries import made_library

from nearpeak.cli import mpi
from nearpeak.libraries import catalogue, discover, tunables, whole
from nearpeak.libraries import nccl as nccl_library
from nearpeak.libraries.library import Discovery, Library
from nearpeak.libraries.tunables.answer import Answer
from nearpeak.machine import discover as here
from nearpeak.machine.machine import Gpu, unknown


def nearpeak(*words: str, **env: str) -> "subprocess.CompletedProcess[str]":
    program = "from nearpeak.cli.main import main; main()"
    return subprocess.run(
        [sys.executable, "-c", program, *words],
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        check=False,
    )


def test_list_names_what_can_be_installed(tmp_path: Path) -> None:
    done = nearpeak("mpi", "list", NEARPEAK_CACHE=str(tmp_path))
    assert done.returncode == 0, done.stderr
    for entry in catalogue.libraries().values():
        assert f"nearpeak mpi add {entry.name}" in done.stdout
        assert entry.summary in done.stdout
    assert re.search(r"^ceiling .*in the place of a library", done.stdout, flags=re.MULTILINE)
    assert "GPU settings" in done.stdout  # all that are named matter for GPU buffers alone
    assert not re.search(r"\bdefault\b", done.stdout)


@pytest.mark.parametrize("gpus", [0, 2])
def test_what_needs_gpus_is_said_where_there_is_none(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], gpus: int
) -> None:
    names = {"openmpi": "openmpi", "openmpi-cuda": "openmpi", "nccl": "nccl"}
    made = {name: made_library(name, family=family) for name, family in names.items()}
    lists = [[made["openmpi"], made["openmpi-cuda"]], [made["nccl"]]]
    for module, libraries in zip((discover, nccl_library), lists, strict=True):
        monkeypatch.setattr(module, "discover", lambda known=libraries: Discovery(known))
    monkeypatch.setattr(catalogue.Entry, "installed", True)
    gpu = Gpu(
        index=0, vendor="nvidia", name="", uuid="", pci="", numa_node=0, memory_bytes=None,
        memory_gbs=None, host_link="pcie", host_gbs=None,
    )  # fmt: skip
    machine = msgspec.structs.replace(unknown(), gpus=[gpu] * gpus)
    monkeypatch.setattr(here, "discover", lambda: machine)
    mpi.list_libraries(json=True)
    notes = json.loads(capsys.readouterr().out)["notes"]
    told = [note.split()[0] for note in notes]
    assert told == ([] if gpus else ["openmpi-cuda", "nccl"])
    if not gpus:
        assert "none was found here: without one it can be measured in host memory" in notes[0]
        assert "needs a GPU for each rank, and none was found here" in notes[1]


def test_list_as_json() -> None:
    catalogue.add("mpich")
    whole = json.loads(nearpeak("mpi", "list", "--json").stdout)
    assert whole["schema"] == 1
    mpich = next(library for library in whole["libraries"] if library["name"] == "mpich")
    assert mpich["family"] == "mpich"
    assert mpich["version"] == catalogue.entry("mpich").version
    assert mpich["launcher_kind"] == "hydra"
    assert Path(mpich["launcher"]).exists()
    assert {entry["name"] for entry in whole["catalogue"]} == set(catalogue.libraries())
    assert [setting["name"] for setting in mpich["settings"]] == ["default", "queries"]
    assert [stand_in["name"] for stand_in in whole["stand_ins"]] == ["ceiling"]


def test_show_gives_a_launch_line_that_runs() -> None:
    catalogue.add("mpich")
    shown = nearpeak("mpi", "show", "mpich").stdout
    assert "standard, of MPI 5 (libmpi_abi.so.1)" in shown
    assert "Settings (mpich@SETTINGS): they change figures\ndefault" in shown
    given = (
        r"^needed    MPIR_CVAR_NOLOCAL=1 \(TCP between ranks of one host\)\n {10}\w.*\n {10}Proof: "
    )
    assert re.search(given, shown, re.MULTILINE)
    assert re.search(r"^needed    taskset$", shown, re.MULTILINE)
    assert "MPICH Version:" in shown
    words = shlex.split(shown.strip().splitlines()[-1])
    words = ["true" if word == "nearpeak-mpi" else word for word in words]
    words = [word if word != "1" or words[at - 1] != "-c" else "0" for at, word in enumerate(words)]
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.fixture
def nccl(monkeypatch: pytest.MonkeyPatch) -> Library:
    """An NCCL in place of every library, which has but two of its settings."""
    library = made_library("nccl", family="nccl", version="2.9.1", abi="", origin="found")
    has = Answer({"NCCL_ALGO": "", "NCCL_BUFFSIZE": "1048576"}, hidden=("NCCL_P2P_NVL_",))
    monkeypatch.setattr(discover, "resolve", lambda _spec: library)
    monkeypatch.setattr(tunables, "installed", lambda _library: {"nccl": has})
    return library


def test_settings_marks_what_the_installation_lacks(
    nccl: Library, capsys: pytest.CaptureFixture[str]
) -> None:
    known = tunables.library_tunables(nccl)
    mpi.list_settings("nccl")
    shown = capsys.readouterr().out
    buffers = next(line for line in shown.splitlines() if "NCCL_BUFFSIZE" in line)
    assert buffers.split()[:4] == ["NCCL_BUFFSIZE", "1048576", "524288", "2097152"]
    assert re.search(r"^ +NCCL_ALGO .*Ring Tree NVLS .*allreduce", shown, flags=re.MULTILINE)
    assert re.search(r"^- +NCCL_PROTO ", shown, flags=re.MULTILINE)
    assert re.search(r"^\? +NCCL_P2P_NVL_CHUNKSIZE ", shown, flags=re.MULTILINE)
    assert f"{len(known)} settings of nccl 2.9.1." in shown
    assert f"({len(known) - 3}): it is not tried" in shown
    assert "whether it has it (1)" in shown


def test_settings_tell_of_a_file(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(discover, "resolve", lambda _spec: made_library())
    monkeypatch.setattr(tunables, "installed", lambda _library: {"openmpi": None, "ucx": None})
    mpi.list_settings("made-up")
    shown = capsys.readouterr().out
    named = next(line for line in shown.splitlines() if "_dynamic_rules_filename" in line)
    assert named.split()[2:5] == ["a", "file,", "openmpi-rules.conf"]


def test_settings_as_json(nccl: Library, capsys: pytest.CaptureFixture[str]) -> None:
    mpi.list_settings("nccl", json=True)
    whole = json.loads(capsys.readouterr().out)
    assert (whole["schema"], whole["library"], whole["version"]) == (1, "nccl", "2.9.1")
    by_name = {setting["name"]: setting for setting in whole["settings"]}
    assert len(by_name) == len(tunables.library_tunables(nccl))
    assert by_name["NCCL_ALGO"]["installed"] is True
    assert by_name["NCCL_ALGO"]["for"] == ["allreduce"]
    assert by_name["NCCL_BUFFSIZE"]["default"] == "1048576"
    assert "1048576" not in by_name["NCCL_BUFFSIZE"]["values"]
    assert by_name["NCCL_PROTO"]["installed"] is False
    assert by_name["NCCL_P2P_NVL_CHUNKSIZE"]["installed"] is None


def test_settings_of_what_has_none() -> None:
    assert "No settings of ceiling" in nearpeak("mpi", "settings", "ceiling").stdout


def test_add_is_done_when_it_is_there() -> None:
    catalogue.add("mpich")
    done = nearpeak("mpi", "add", "mpich")
    assert done.returncode == 0
    assert "is there: " in done.stdout


def test_a_library_that_is_not_whole_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    prefix = catalogue.add("mpich")
    file = str(prefix / "lib/mpich/ucx/libuct_cma.so.0")
    module = whole.Module(file=file, missing=["libgone.so.1"], error="libgone.so.1")
    monkeypatch.setattr(whole, "look", lambda _library: whole.Modules(modules=[module]))
    what = "libuct_cma.so.0 does not load (libgone.so.1 is not found): UCX lacks its transports"
    remedy = f"remove {prefix} and run `nearpeak mpi add mpich`"
    mpi.add(["mpich"])
    assert capsys.readouterr().err == f"nearpeak: mpich is not whole: {what}; {remedy}\n"
    mpi.show("mpich")
    assert re.search(rf"modules +0 of 1 load\s+{re.escape(what)}", capsys.readouterr().out)


def test_bad_input_is_one_line_and_status_2(tmp_path: Path) -> None:
    for words, said in (
        (
            ("add", "mpich", "nompi"),
            "the catalogue has no library 'nompi'; did you mean 'openmpi'?",
        ),
        (("settings", "nompi"), "unknown MPI library 'nompi'; did you mean 'openmpi'?"),
        (("show", "nompi"), "unknown MPI library 'nompi'; did you mean 'openmpi'?"),
        (("show", "openmpi"), "nearpeak mpi add openmpi"),
        (("show", "/nowhere"), "there is no /nowhere"),
    ):
        done = nearpeak("mpi", *words, NEARPEAK_CACHE=str(tmp_path / "cache"))
        assert done.returncode == 2
        assert said in done.stderr
        assert done.stderr.count("\n") == 1
        assert done.stdout == ""
    assert not (tmp_path / "cache").exists()


def test_what_is_no_library_is_shown_in_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    mpi.show("ceiling")
    out = capsys.readouterr().out
    assert out == "ceiling: nearpeak-native's best methods in the place of a library\n"
