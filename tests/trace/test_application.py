# SPDX-License-Identifier: Apache-2.0
"""Which library a command uses."""

from pathlib import Path
from typing import Any

import pytest

from nearpeak.errors import UserError
from nearpeak.trace.application import library_of


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
