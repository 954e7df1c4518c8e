# SPDX-License-Identifier: Apache-2.0
"""Settings in a file, and what they are refused for."""

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from made_libraries import made_evidence, made_library, made_profile

from nearpeak.errors import UserError
from nearpeak.libraries import profiles, settings
from nearpeak.libraries.profiles import Profile, build_of, to_toml

SAYS = "Open MPI v5.0.11, package: Open MPI\n user@localhost"
LIBRARY = made_library("mine", version="5.0.11", version_text=SAYS)
PROFILE = made_profile(
    build="Open MPI v5.0.11, package: Open MPI user@localhost",
    components={"ucx": "1.22.0"},
    env={"UCX_TLS": "sm,self"},
    evidence=[
        made_evidence("x", 1.0, 2.0, ceiling=0.5),
        made_evidence("y", 1.0, 2.0, ci95=[0.4, 0.6]),
    ],
)


@pytest.fixture(autouse=True)
def _components(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that LIBRARY tells of."""
    monkeypatch.setattr(profiles, "versions", lambda _: {"ucx": "1.22.0"})


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "profile.toml"
    file.write_text(to_toml(PROFILE))
    return file


def test_what_is_written_is_read(file: Path) -> None:
    assert msgspec.toml.decode(file.read_bytes(), type=Profile) == PROFILE
    library, name = settings.split(f"mine@{file}")
    assert (library, name) == ("mine", str(file))
    found = settings.find(LIBRARY, str(file))
    assert (found.name, found.env) == ("tuned", {"UCX_TLS": "sm,self"})
    assert found.summary == "tuned on node1, 2026-01-02"


def test_what_a_profile_leaves_out_is_read(tmp_path: Path) -> None:
    file = tmp_path / "profile.toml"
    library = made_library("mine", family="mpich", version="5.0.11")
    profile = msgspec.structs.replace(PROFILE, build="", family="mpich")
    for names in (["MPIR_CVAR_ENABLE_GPU"], ["MPIR_CVAR_NOLOCAL"]):
        file.write_text(to_toml(msgspec.structs.replace(profile, unset=names)))
        assert profiles.load(file, library).unset == names
    with pytest.raises(UserError, match="settings 'tuned' cannot leave out MPIR_CVAR_NOLOCAL"):
        settings.find(library, str(file))


def test_a_file_that_a_variable_names_is_the_one_beside_it(tmp_path: Path) -> None:
    profile = msgspec.structs.replace(PROFILE, env={"RULES": "/a/b"}, files={"RULES": "r.conf"})
    file = tmp_path / "profile.toml"
    file.write_text(to_toml(profile))
    own = tmp_path.resolve() / "r.conf"
    words = f"{file} sets RULES to {own}, which is not there: copy it there"
    with pytest.raises(UserError, match=re.escape(words)):
        settings.find(LIBRARY, str(file))
    own.touch()
    assert settings.find(LIBRARY, str(file)).env == {"RULES": str(own)}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"family": "mpich"}, "is a profile of mpich 5.0.11, and mine is another library"),
        (
            {"version": "5.0.3"},
            "is a profile of openmpi 5.0.3, and mine is 5.0.11: tune anew, or write version ="
            ' "5.0.11" into it to use it all the same',
        ),
        ({"schema": 2}, "is a profile of schema 2, not 1: tune anew"),
        (
            {"build": "openmpi-cuda"},
            "is a profile of another build of openmpi 5.0.11 (openmpi-cuda) than mine (Open MPI"
            ' v5.0.11, package: Open MPI user@localhost): tune anew, or write build = "" into it to'
            " use it all the same",
        ),
        (
            {"components": {"ucx": "1.18.0"}},
            "is a profile of openmpi 5.0.11 with ucx 1.18.0, and mine has ucx 1.22.0: tune anew, or"
            ' write ucx = "1.22.0" below [components] in it to use it all the same',
        ),
        ({"components": {"ucx": ""}}, "is a profile of openmpi 5.0.11 with no ucx, and mine has"),
    ],
)
def test_another_library_or_version_is_refused(
    file: Path, changes: dict[str, object], message: str
) -> None:
    file.write_text(to_toml(msgspec.structs.replace(PROFILE, **changes)))
    with pytest.raises(UserError, match=re.escape(f"{file} {message}")):
        settings.find(LIBRARY, str(file))


@pytest.mark.parametrize(
    "changes",
    [
        {"build": "", "components": {"ucx": "1.22.0"}},  # as the refusals say
        {"components": {"another": "1"}},  # which cannot be asked here
    ],
)
def test_what_is_not_known_or_not_asked_for_is_not_refused(
    file: Path, changes: dict[str, object]
) -> None:
    file.write_text(to_toml(msgspec.structs.replace(PROFILE, **changes)))
    assert settings.find(LIBRARY, str(file)).env == PROFILE.env


def test_profiles_from_before_builds_were_told_are_read(file: Path) -> None:
    old, new = to_toml(made_profile(env=PROFILE.env)), ("build", "components", "breaks")
    file.write_text(
        re.sub(rf"^(\[({'|'.join(new)})\]|({'|'.join(new)}) = .*)\n", "", old, flags=re.M)
    )
    assert not re.search("|".join(new), file.read_text())
    assert settings.find(LIBRARY, str(file)).env == PROFILE.env


def test_a_build_is_the_entry_of_the_catalogue_or_what_the_library_says() -> None:
    assert build_of(LIBRARY) == PROFILE.build
    assert build_of(made_library("alias", entry="openmpi-cuda")) == "openmpi-cuda"
    assert build_of(made_library("nccl", family="nccl", version_text="NCCL 2, /a")) == ""


def test_another_machine_is_told_in_a_line(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def here(host: str, gpus: list[str], driver: str | None) -> Any:
        return SimpleNamespace(
            hostname=host,
            gpus=[SimpleNamespace(name=name) for name in gpus],
            provenance=SimpleNamespace(nvidia_driver=driver),
        )

    def said(machine: Any) -> list[str]:
        lines: list[str] = []
        monkeypatch.setattr(profiles, "discover", lambda: machine)
        assert settings.find(LIBRARY, str(file), lines.append).env == PROFILE.env
        return lines

    assert said(here("node1", [], None)) == []
    file.write_text(to_toml(msgspec.structs.replace(PROFILE, gpus=["A", "A"], driver="580")))
    assert said(here("node1", ["A"], "580")) == []
    assert said(here("node2", ["B"], "590")) == [
        f"{file} was tuned with host node1 (here node2), GPU A (here B), driver 580 (here 590):"
        " what it does here is not known"
    ]
    (line,) = said(here("node1", [], None))
    assert "with GPU A (here none), driver 580 (here none): " in line


def test_what_is_no_profile_is_refused(file: Path, tmp_path: Path) -> None:
    file.write_text("schema = 1\n")
    with pytest.raises(UserError, match=r"is no profile .*: give one that `nearpeak tune` wrote"):
        settings.find(LIBRARY, str(file))
    with pytest.raises(UserError, match=r"none\.toml cannot be read"):
        settings.find(LIBRARY, str(tmp_path / "none.toml"))
