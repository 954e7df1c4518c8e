# SPDX-License-Identifier: Apache-2.0
"""What tests of launches have in common: which libraries they are for, and command lines.

Tests import it by its name: `from mpi_launches import one_library` (tests/conftest.py).
"""

from collections.abc import Iterable

import pytest


def measured_with(*libraries: str) -> pytest.MarkDecorator:
    """With these in turn, and not with Open MPI and MPICH."""
    return pytest.mark.parametrize("measured_library", libraries, indirect=True)


one_library = measured_with("mpich")  # what is not about the library
every_library = measured_with("openmpi", "mpich", "intel")

every_number_of_ranks = pytest.mark.parametrize(
    ("measured_library", "ranks"),
    [*(("mpich", ranks) for ranks in (1, 2, 3, 4, 6)), ("openmpi", 4), ("intel", 3)],
    indirect=["measured_library"],
)


def with_options(names: Iterable[str], *words: str) -> list[str]:
    """Each benchmark with these options of its own."""
    return [word for name in names for word in (name, *words)]
