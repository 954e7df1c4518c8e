# SPDX-License-Identifier: Apache-2.0
"""Named settings, and specs that name them."""

import re
from pathlib import Path

import msgspec
import pytest
from made_libraries import made_library

from nearpeak.errors import UserError
from nearpeak.libraries import settings
from nearpeak.libraries.families import all_families
from nearpeak.libraries.library import UNSET, Settings


def test_every_settings_says_what_it_changes() -> None:
    assert set(settings._families()) <= set(all_families())
    for family in all_families():
        known = settings.family_settings(family)
        assert known.pop("default") == Settings()
        for name, each in known.items():
            assert each.name == name
            assert each.summary
            assert "\n" not in each.summary
            assert each.env or each.flags or each.unset


def test_a_change_of_a_variable_is_a_value_or_that_it_is_left_out() -> None:
    base = Settings(name="x", env={"A": "1", "B": "1"}, flags=["-v"], unset=["C", "D"])
    found = base.changed({"A": UNSET, "B": "2", "C": "3", "E": UNSET})
    assert (found.name, found.flags) == ("x", ["-v"])
    assert (found.env, found.unset) == ({"B": "2", "C": "3"}, ["D", "A", "E"])
    assert base.changed({}) == base


def test_settings_that_leave_out_what_is_needed_are_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = Settings(name="bad", unset=["LD_LIBRARY_PATH"])
    monkeypatch.setattr(settings, "family_settings", lambda _: {"bad": made})
    with pytest.raises(UserError, match="settings 'bad' cannot leave out LD_LIBRARY_PATH: "):
        settings.find(made_library(), "bad")


def test_find() -> None:
    openmpi = made_library(family="openmpi")
    assert settings.find(openmpi, "dmabuf-off").env == {"UCX_CUDA_COPY_DMABUF": "n"}
    assert settings.find(made_library(family="mpich"), "default") == Settings()
    message = "unknown settings 'dmabuf' of openmpi; did you mean 'dmabuf-off'?"
    with pytest.raises(UserError, match=re.escape(message)):
        settings.find(openmpi, "dmabuf")


@pytest.mark.parametrize(
    ("spec", "library", "name"),
    [
        ("openmpi", "openmpi", None),
        ("openmpi-cuda@dmabuf-off", "openmpi-cuda", "dmabuf-off"),
        ("mine=openmpi@rndv-1", "mine=openmpi", "rndv-1"),
        ("/opt/x@y", "/opt/x", "y"),
        ("/opt/x@1/mpi", "/opt/x@1/mpi", None),
        ("@x", "@x", None),
    ],
)
def test_split(spec: str, library: str, name: str | None) -> None:
    assert settings.split(spec) == (library, name)


def test_an_at_in_a_path_that_is_there_is_the_paths(tmp_path: Path) -> None:
    prefix = tmp_path / "openmpi@5"
    prefix.mkdir()
    assert settings.split(str(prefix)) == (str(prefix), None)
    assert settings.split(f"mine={prefix}") == (f"mine={prefix}", None)
    assert settings.split(f"{prefix}@x") == (str(prefix), "x")


def test_an_unknown_key_of_settings_is_refused() -> None:
    with pytest.raises(msgspec.ValidationError, match="unknown field `evn`"):
        msgspec.convert({"name": "mine", "evn": {"A": "1"}}, Settings)
