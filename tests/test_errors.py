# SPDX-License-Identifier: Apache-2.0
"""What is said in the place of a wrong name."""

import pytest

from nearpeak.errors import closest


@pytest.mark.parametrize(
    ("wrong", "right", "said"),
    [
        ("mpch", ["openmpi", "mpich"], "; did you mean 'mpich'?"),
        ("jacob2d", ("latency", "jacobi2d"), "; did you mean 'jacobi2d'?"),
        ("x", {"latency": 1, "bw": 2}, "; there are: latency, bw"),
        ("x", [], "; there are none"),
    ],
)
def test_closest(wrong: str, right: list[str], said: str) -> None:
    assert closest(wrong, right) == said
