# SPDX-License-Identifier: Apache-2.0
"""Which library a command uses, and by which ABI."""

import subprocess
from pathlib import Path
from typing import Any

import pytest
from made_libraries import made_library

from nearpeak.errors import UserError
from nearpeak.libraries import standard_abi
from nearpeak.libraries.build import compiler
from nearpeak.trace.application import application_library, library_of


def test_a_program_that_is_not_there_is_named() -> None:
    with pytest.raises(UserError, match=r"^there is no program \./missing$"):
        library_of(["./missing", "-n", "2"])


def test_a_command_without_mpi_needs_a_name() -> None:
    with pytest.raises(UserError, match="no program in `true x` is linked with an MPI library"):
        library_of(["true", "x"])


def test_a_program_that_may_be_run_but_not_read_needs_a_name(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    program = tmp_path / "unread"
    program.write_bytes(b"\x7fELF")
    program.chmod(0o711)
    opened = Path.open

    def refused(file: Path, *words: Any, **more: Any) -> Any:  # root may read everything
        if file == program:
            raise PermissionError(13, "Permission denied", str(file))
        return opened(file, *words, **more)

    monkeypatch.setattr(Path, "open", refused)
    with pytest.raises(UserError, match="is linked with an MPI library that is found: name"):
        library_of([str(program)])


def linked(folder: Path, soname: str) -> str:
    """A program that is linked with a library of this name."""
    folder.mkdir()
    library, program = folder / soname, folder / "app"
    for flags, target in (
        (["-shared", f"-Wl,-soname,{soname}"], library),
        ([str(library), "-Wl,--no-as-needed", str(library)], program),
    ):
        words = [*compiler(), "-x", "c++", "-", "-x", "none", *flags, "-o", str(target)]
        subprocess.run(words, input="int main() {}", text=True, check=True)
    return str(program)


def test_a_named_library_is_taken_by_the_abi_that_the_program_is_linked_by(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    own, standard = (linked(tmp_path / name, name) for name in ("libmpi.so.12", "libmpi_abi.so.1"))
    prefix = tmp_path / "prefix"
    (prefix / "lib").mkdir(parents=True)
    (prefix / "lib/libmpi_abi.so.1").touch()
    libmpi = prefix / "lib/libmpi.so.12"
    both = made_library("both", prefix=prefix, libmpi=libmpi)
    bare = tmp_path / "bare"
    one = made_library("one", prefix=bare, libmpi=bare / "lib/libmpi.so.12")
    named = {"both": both, "one": one}
    monkeypatch.setattr("nearpeak.libraries.discover.resolve", named.__getitem__)

    assert application_library(["true", own], "both", "layer") == both
    assert application_library(["true", "missing"], "both", "layer") == both
    assert application_library([], "both", "layer") == both
    for command, wanted in ((["true", standard, own], False), (["python"], True)):
        found = application_library(command, "both", "layer", by_standard_abi=wanted)
        assert (found.name, found.abi) == ("both", standard_abi.NAME)
        assert found.libmpi == prefix / "lib/libmpi_abi.so.1"
    with pytest.raises(UserError, match=r"^one in .* does not have the standard ABI"):
        application_library([standard], "one", "layer")
