# SPDX-License-Identifier: Apache-2.0
"""`nearpeak bundle` and `unbundle`: their words; what they do is tested in tests/bundle."""

from collections.abc import Callable
from pathlib import Path

import pytest

Nearpeak = Callable[..., tuple[int, str, str]]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ("bundle", "-o", "a.tar.xz", "--mpi", "openmpi", "--python", "3"),
            "write a version like 3.12",
        ),
        (("bundle", "-o", "a.tar.xz", "--mpi", "nompi"), "cannot bundle 'nompi': choose of "),
        (("bundle", "-o", "a.tar.xz"), "--mpi"),
        (("bundle", "-o", "no/a.tar.xz", "--mpi", "openmpi"), "no/a.tar.xz: there is no folder "),
        (("bundle", "-o", "a.tar.gz", "--mpi", "openmpi"), "a bundle is a tar.xz"),
        (("unbundle", "missing"), "cannot unpack missing"),
        (("unbundle", "."), "is not a bundle"),
    ],
)
def test_bad_input_is_one_line(
    nearpeak: Nearpeak, tmp_path: Path, words: tuple[str, ...], message: str
) -> None:
    before = set(tmp_path.iterdir())
    code, out, err = nearpeak(*words)
    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1
    assert set(tmp_path.iterdir()) == before
