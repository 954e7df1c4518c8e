# SPDX-License-Identifier: Apache-2.0
"""The files of a profile, as shells, libraries and module systems read them."""

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from made_libraries import made_evidence, made_library, made_profile

from nearpeak.errors import UserError
from nearpeak.libraries import preload, settings
from nearpeak.libraries.profiles import Profile
from nearpeak.tune.written import ANYWAY, LEFT_OUT, NAMES, TUNED, withdraw, write

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
    needed={
        "PATH": "/opt/mpi/bin",
        "LD_LIBRARY_PATH": "/opt/mpi/lib:/opt/ucx/lib",
        "OMPI_MCA_pml": "ob1",
        "OMPI_MCA_btl": "^ofi",
        "UCX_MODULE_DIR": "/opt/ucx/lib/ucx",
    },
    breaks=["UCX_TLS: there is no network"],
)


RULES = "OMPI_MCA_coll_tuned_dynamic_rules_filename"


def test_what_it_does_to_host_messages_stands_first(tmp_path: Path) -> None:
    """In the profile of device buffers; the first line of a modulefile says what the file is."""
    cases = {"8 B": (0.65, [0.6, 0.7]), "1 MiB": (1.0, [])}
    rows = [
        msgspec.structs.replace(
            made_evidence(f"host-host near, latency H,H at {size}"), times=times, ci95=ci95
        )
        for size, (times, ci95) in cases.items()
    ]
    words = "8 B 0.650 [0.600, 0.700], 1 MiB 1.00 (few launches) times as fast (host-host near)"
    for host, told in ((rows, words), ([], "not measured")):
        profile = msgspec.structs.replace(PROFILE, host_messages=host)
        for file in write(profile, tmp_path):
            first = file.read_text().removeprefix("#%Module1.0\n").splitlines()[0]
            assert first == f"# Host messages with it: {told}", file
        assert (
            settings.find(made_library(version=PROFILE.version), str(tmp_path / "profile.toml")).env
            == ENV
        )


def with_rules(source: Path) -> Profile:
    """The same with a file that a variable names."""
    source.write_text("0 # operations\n")
    return msgspec.structs.replace(
        PROFILE, env={**ENV, RULES: str(source)}, files={RULES: "openmpi-rules.conf"}
    )


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    return {file.name: file for file in write(PROFILE, tmp_path)}


def sourced(files: dict[str, Path], name: str, before: str = "") -> str:
    """The value of a variable after the shell file; `before`: lines before it."""
    script = f'{before}\n. "$0"; printf %s "${name}"'
    words = ["sh", "-c", script, str(files["profile.sh"])]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


def test_a_shell_file_sets_the_variables_as_they_are(files: dict[str, Path]) -> None:
    assert sourced(files, "NASTY") == ENV["NASTY"]
    assert sourced(files, "UCX_RNDV_THRESH") == ENV["UCX_RNDV_THRESH"]


def test_a_module_file_sets_them_too(
    files: dict[str, Path], environment_of_module: Callable[[Path], dict[str, str]]
) -> None:
    assert environment_of_module(files["modulefile"]) == {**PROFILE.needed, **ENV}
    assert files["modulefile"].read_text().startswith("#%Module1.0\n")


def test_what_is_left_out_is_unset(
    tmp_path: Path, environment_of_module: Callable[[Path], dict[str, str]]
) -> None:
    profile = msgspec.structs.replace(PROFILE, unset=["I_MPI_PIN"])
    files = {file.name: file for file in write(profile, tmp_path)}
    assert sourced(files, "{I_MPI_PIN-none}", "export I_MPI_PIN=1") == "none"
    assert environment_of_module(files["modulefile"])["I_MPI_PIN"] == "<unset>"
    for name in ("profile.sh", "modulefile"):
        assert f"# {LEFT_OUT}:\nunset" in files[name].read_text()


def test_libraries_read_their_own_files(files: dict[str, Path]) -> None:
    def lines(name: str) -> list[str]:
        text = files[name].read_text()
        return [line for line in text.splitlines() if not line.startswith("#")]

    assert lines("ucx.conf") == [
        "UCX_MODULE_DIR=/opt/ucx/lib/ucx",
        "UCX_RNDV_THRESH=intra:1,inter:auto",
    ]
    assert lines("openmpi-mca-params.conf") == ["btl = ^ofi", "pml = ucx"]


def test_what_is_set_in_any_case_has_a_part_of_its_own(files: dict[str, Path]) -> None:
    for name, file in files.items():
        if name != "profile.toml":
            _, _, rest = file.read_text().partition(f"# {ANYWAY}:\n")
            anyway, _, tuned = rest.partition(f"# {TUNED}:\n")
            assert not any(variable in anyway for variable in ("THRESH", "pml", "NASTY")), name
            assert not any(variable in tuned for variable in ("MODULE_DIR", "PATH", "btl")), name
    library = made_library(version=PROFILE.version)
    found = settings.find(library, str(files["profile.toml"]))
    assert found.env == ENV  # launches set the rest by themselves


def test_folders_are_put_before_those_of_a_search_path(
    tmp_path: Path, environment_of_module: Callable[[Path], dict[str, str]]
) -> None:
    own = {"LD_LIBRARY_PATH": "/mine"}  # as of settings
    profile = msgspec.structs.replace(PROFILE, env=own)
    files = {file.name: file for file in write(profile, tmp_path)}
    expected = "/mine:/opt/mpi/lib:/opt/ucx/lib"
    before = "LD_LIBRARY_PATH=/before"
    assert sourced(files, "LD_LIBRARY_PATH", before) == f"{expected}:/before"
    assert sourced(files, "LD_LIBRARY_PATH", "unset LD_LIBRARY_PATH") == expected
    assert sourced(files, "PATH", "PATH=/bin") == "/opt/mpi/bin:/bin"
    assert environment_of_module(files["modulefile"])["LD_LIBRARY_PATH"] == expected


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


def test_a_file_that_a_variable_names_lies_beside_the_others(
    tmp_path: Path, environment_of_module: Callable[[Path], dict[str, str]]
) -> None:
    folder = tmp_path / "tuned"
    files = {file.name: file for file in write(with_rules(tmp_path / "tried.conf"), folder)}
    own = folder.resolve() / "openmpi-rules.conf"
    assert own.read_text() == "0 # operations\n"
    assert sourced(files, RULES) == str(own)
    assert environment_of_module(files["modulefile"])[RULES] == str(own)
    mca = files["openmpi-mca-params.conf"].read_text()
    assert f"\ncoll_tuned_dynamic_rules_filename = {own}\n" in mca
    assert f"# {own} must be there on each host of a job: of ranks that find it" in mca
    assert f"Where it is moved, change {RULES}" in mca
    library = made_library(version=PROFILE.version)
    moved = folder.rename(tmp_path / "moved")
    found = settings.find(library, str(moved / "profile.toml"))
    assert found.env[RULES] == str(moved.resolve() / "openmpi-rules.conf")


def test_a_library_that_is_preloaded_lies_beside_the_others(
    tmp_path: Path, environment_of_module: Callable[[Path], dict[str, str]]
) -> None:
    built = tmp_path / "build" / "libnearpeak-queries.so"
    built.parent.mkdir()
    built.write_bytes(b"\x7fELF\xff")
    env = preload.without_others({"LD_PRELOAD": f"{built}:/x/libdarshan.so"})
    assert env == {"LD_PRELOAD": str(built)}
    profile = made_profile(env=env, files=preload.files(env))
    folder = tmp_path / "tuned"
    files = {file.name: file for file in write(profile, folder)}
    own = folder.resolve() / built.name
    assert own.read_bytes() == built.read_bytes()
    script = files["profile.sh"].read_text()
    # What the shell preloads stays.
    assert f'export LD_PRELOAD={own}"${{LD_PRELOAD:+:$LD_PRELOAD}}"' in script
    assert environment_of_module(files["modulefile"])["LD_PRELOAD"].split(":")[0] == str(own)
    assert f"# {own} must be there on each host of a job: a rank that does not find it" in script
    library = made_library(version=PROFILE.version)
    assert settings.find(library, str(folder / "profile.toml")).env["LD_PRELOAD"] == str(own)
    # The loader would take such a path apart.
    blank = tmp_path / "my tuning"
    write(profile, blank)
    assert not (blank / built.name).exists()
    assert f"export LD_PRELOAD={built}" in (blank / "profile.sh").read_text()


def test_a_file_that_a_variable_names_must_be_there(tmp_path: Path) -> None:
    profile = with_rules(tmp_path / "tried.conf")
    (tmp_path / "tried.conf").unlink()
    with pytest.raises(UserError, match=r"tried.conf cannot be read \(.*\), which the settings"):
        write(profile, tmp_path / "tuned")


def test_profiles_that_hold_no_more_are_withdrawn(tmp_path: Path) -> None:
    here, own = tmp_path / "only-x-H-D", tmp_path / "only-mine"
    own.mkdir()
    for folder in (tmp_path, here):
        profile = with_rules(own / "tried.conf")
        assert {file.name for file in write(profile, folder)} == {*NAMES} - {*preload.LIBRARIES}
        (folder / preload.LIBRARIES[0]).touch()
    kept = {own / "tried.conf", tmp_path / "tune.json"}
    for file in kept:
        file.touch()
    withdraw(tmp_path)
    assert set(tmp_path.rglob("*")) == {own, *kept}
    withdraw(tmp_path)


def test_a_profile_that_cannot_be_withdrawn_is_told(tmp_path: Path) -> None:
    (tmp_path / "profile.sh").mkdir()
    with pytest.raises(UserError, match=re.escape(f"cannot remove {tmp_path / 'profile.sh'} (")):
        withdraw(tmp_path)
