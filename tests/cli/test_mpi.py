# SPDX-License-Identifier: Apache-2.0
"""`nearpeak mpi`, run as a user runs it."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

from nearpeak.libraries import catalogue


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
    assert [setting["name"] for setting in mpich["settings"]] == ["default"]
    assert [stand_in["name"] for stand_in in whole["stand_ins"]] == ["ceiling"]


def test_show_gives_a_launch_line_that_runs() -> None:
    catalogue.add("mpich")
    shown = nearpeak("mpi", "show", "mpich").stdout
    assert "Settings (mpich@SETTINGS)\ndefault" in shown
    assert "MPICH Version:" in shown
    words = shlex.split(shown.strip().splitlines()[-1])
    words = ["true" if word == "nearpeak-mpi" else word for word in words]
    words = [word if word != "1" or words[at - 1] != "-c" else "0" for at, word in enumerate(words)]
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr


def test_add_is_done_when_it_is_there() -> None:
    catalogue.add("mpich")
    done = nearpeak("mpi", "add", "mpich")
    assert done.returncode == 0
    assert "is there: " in done.stdout


def test_bad_input_is_one_line_and_status_2(tmp_path: Path) -> None:
    for words, said in (
        (
            ("add", "mpich", "nompi"),
            "the catalogue has no library 'nompi'; did you mean 'openmpi'?",
        ),
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
