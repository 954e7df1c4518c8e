# SPDX-License-Identifier: Apache-2.0
"""Settings in a file, and what they are refused for."""

import re
from pathlib import Path

import msgspec
import pytest
from made_libraries import made_evidence, made_library, made_profile

from nearpeak.errors import UserError
from nearpeak.libraries import settings
from nearpeak.libraries.profiles import Profile, to_toml

LIBRARY = made_library("mine", version="5.0.11")
PROFILE = made_profile(
    env={"UCX_TLS": "sm,self"},
    evidence=[
        made_evidence("x", 1.0, 2.0, ceiling=0.5),
        made_evidence("y", 1.0, 2.0, ci95=[0.4, 0.6]),
    ],
)


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
    ],
)
def test_another_library_or_version_is_refused(
    file: Path, changes: dict[str, object], message: str
) -> None:
    file.write_text(to_toml(msgspec.structs.replace(PROFILE, **changes)))
    with pytest.raises(UserError, match=re.escape(f"{file} {message}")):
        settings.find(LIBRARY, str(file))


def test_what_is_no_profile_is_refused(file: Path, tmp_path: Path) -> None:
    file.write_text("schema = 1\n")
    with pytest.raises(UserError, match=r"is no profile .*: give one that `nearpeak tune` wrote"):
        settings.find(LIBRARY, str(file))
    with pytest.raises(UserError, match=r"none\.toml cannot be read"):
        settings.find(LIBRARY, str(tmp_path / "none.toml"))
