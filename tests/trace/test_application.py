# SPDX-License-Identifier: Apache-2.0
"""Which library a command uses."""

import pytest

from nearpeak.errors import UserError
from nearpeak.trace.application import library_of


def test_a_program_that_is_not_there_is_named() -> None:
    with pytest.raises(UserError, match=r"^there is no program \./missing$"):
        library_of(["./missing", "-n", "2"])


def test_a_command_without_mpi_needs_a_name() -> None:
    with pytest.raises(UserError, match="no program in `true x` is linked with an MPI library"):
        library_of(["true", "x"])
