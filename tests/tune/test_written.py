# SPDX-License-Identifier: Apache-2.0
"""The files of a profile, as shells, libraries and module systems read them."""

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from made_libraries import made_evidence, made_profile

from nearpeak.errors import UserError
from nearpeak.tune.written import NAMES, withdraw, write

ENV = {
    "UCX_RNDV_THRESH": "intra:1,inter:auto",
    "OMPI_MCA_pml": "ucx",
    "NASTY": """a "b" $HOME [exit] {c} \\d 'e' ; f""",
}
PROFILE = made_profile(
    gpus=["a GPU"],
    driver="580",
    env=ENV,
    evidence=[made_evidence("latency", 66.0, 12.0, ci95=[5.2, 5.8])],
    slower=[made_evidence("bw\nx", 1.0, 2.0)],
    breaks=["UCX_TLS: there is no network"],
)


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    return {file.name: file for file in write(PROFILE, tmp_path)}


def test_a_shell_file_sets_the_variables_as_they_are(files: dict[str, Path]) -> None:
    script = '. "$0"; printf "%s|%s" "$NASTY" "$UCX_RNDV_THRESH"'
    done = subprocess.run(
        ["sh", "-c", script, str(files["profile.sh"])], capture_output=True, text=True, check=True
    )
    assert done.stdout == f"{ENV['NASTY']}|{ENV['UCX_RNDV_THRESH']}"


def test_a_module_file_sets_them_too(
    files: dict[str, Path], environment_of_module: Callable[[Path], dict[str, str]]
) -> None:
    assert environment_of_module(files["modulefile"]) == ENV
    assert files["modulefile"].read_text().startswith("#%Module1.0\n")


def test_libraries_read_their_own_files(files: dict[str, Path]) -> None:
    def settings(name: str) -> list[str]:
        lines = files[name].read_text().splitlines()
        return [line for line in lines if not line.startswith("#")]

    assert settings("ucx.conf") == ["UCX_RNDV_THRESH=intra:1,inter:auto"]
    assert settings("openmpi-mca-params.conf") == ["pml = ucx"]


def test_each_says_where_it_is_from(files: dict[str, Path]) -> None:
    for name, file in files.items():
        text = file.read_text()
        assert "node1" in text, name
        assert "5.0.11" in text, name
        assert "UCX_TLS: there is no network" in text, name
        if name != "profile.toml":
            assert "# latency: 66 -> 12 us, 5.5 [5.2, 5.8] times as fast\n" in text
            assert "#   bw x: 1 -> 2 us, 0.5 times as fast\n" in text


def test_files_that_a_library_has_no_use_for_are_left_out(tmp_path: Path) -> None:
    found = write(made_profile(env={"I_MPI_X": "1"}), tmp_path)
    assert [file.name for file in found] == ["profile.toml", "profile.sh", "modulefile"]


def test_profiles_that_hold_no_more_are_withdrawn(tmp_path: Path) -> None:
    here, own = tmp_path / "only-x-H-D", tmp_path / "only-mine"
    for folder in (tmp_path, here):
        assert {file.name for file in write(PROFILE, folder)} == set(NAMES)
    own.mkdir()
    kept = {own / "notes", tmp_path / "tune.json"}
    for file in kept:
        file.touch()
    withdraw(tmp_path)
    assert set(tmp_path.rglob("*")) == {own, *kept}
    withdraw(tmp_path)


def test_a_profile_that_cannot_be_withdrawn_is_told(tmp_path: Path) -> None:
    (tmp_path / "profile.sh").mkdir()
    with pytest.raises(UserError, match=re.escape(f"cannot remove {tmp_path / 'profile.sh'} (")):
        withdraw(tmp_path)
