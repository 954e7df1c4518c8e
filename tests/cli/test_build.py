# SPDX-License-Identifier: Apache-2.0
"""`nearpeak build`, on stand-ins for what is built."""

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from nearpeak.errors import UserError
from nearpeak.libraries import build, discover
from nearpeak.libraries.library import Library

Nearpeak = Callable[..., tuple[int, str, str]]


@pytest.fixture
def built(standins: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The folder of the programs, which are there already."""
    for name in ("native", "one"):
        (tmp_path / name).write_bytes(b"\x7fELF")
    monkeypatch.setattr(build, "build_native", lambda: tmp_path / "native")
    monkeypatch.setattr(build, "build_mpi", lambda library: tmp_path / library.name)
    monkeypatch.setattr(discover, "resolve", standins.library)
    monkeypatch.setattr(discover, "find_libraries", lambda: [standins.library("one")])
    return tmp_path


@pytest.mark.parametrize("words", [(), ("--mpi", "one")])
def test_it_prints_where_the_programs_are(
    nearpeak: Nearpeak, built: Path, words: tuple[str, ...]
) -> None:
    code, out, err = nearpeak("build", *words)
    assert (code, err) == (0, "")
    assert [line.split() for line in out.splitlines()] == [
        ["nearpeak-native", str(built / "native")],
        ["nearpeak-mpi", "for", "one", str(built / "one")],
    ]


def test_what_fails_for_one_library_stops_none_of_the_others(
    nearpeak: Nearpeak, built: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def build_mpi(library: Library) -> Path:
        if library.name != "one":
            raise UserError("no mpi.h: install it")
        return built / library.name

    monkeypatch.setattr(build, "build_mpi", build_mpi)
    code, out, err = nearpeak("build", "--mpi", "two", "--mpi", "one", "--mpi", "three")
    assert (code, err) == (1, "nearpeak: nearpeak-mpi for two: no mpi.h: install it\n")
    assert [line.split() for line in out.splitlines()[:-1]] == [
        ["nearpeak-native", str(built / "native")],
        ["nearpeak-mpi", "for", "one", str(built / "one")],
    ]
    assert out.splitlines()[-1] == (
        "Exit status 1: not built: nearpeak-mpi for two and nearpeak-mpi for three"
    )


def test_without_a_library_it_builds_the_ceilings_and_says_so(
    nearpeak: Nearpeak, built: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(discover, "find_libraries", list)
    code, out, _ = nearpeak("build")
    assert code == 0
    first, last = out.splitlines()
    assert first.endswith(str(built / "native"))
    assert last.startswith("No MPI library was found: see `nearpeak mpi list`")


def test_it_says_when_a_program_needs_the_compilers_libraries(
    nearpeak: Nearpeak, built: Path
) -> None:
    (built / "one").write_bytes(b"libstdc++.so.6")
    code, _, err = nearpeak("build")
    assert code == 0
    assert "libstdc++-static" in err
