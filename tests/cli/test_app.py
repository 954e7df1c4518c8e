# SPDX-License-Identifier: Apache-2.0
"""`nearpeak app`: what is bad input, and a problem that is solved for real."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from nearpeak.errors import UserError

NEARPEAK = str(Path(sys.executable).with_name("nearpeak"))
Nearpeak = Callable[..., tuple[int, str, str]]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("jacobi2d",), "give --tolerance RESIDUE to solve, or --study DIR --what-if LIBRARY"),
        (("jacobi2d", "--tolerance", "1", "--what-if", "x"), "give --tolerance RESIDUE"),
        (("jacobi2d", "--what-if", "x"), "--what-if goes with --study DIR, and with nothing else"),
        (("jacobi2d", "--tolerance", "1", "--study", "x"), "--study goes with --what-if"),
        (("jacobi2d", "--tolerance", "1", "--plot", "x.bmp"), "one of .html, .png, .svg, .pdf"),
        (("jacobi2d", "--tolerance", "1"), "name a library with --mpi"),
        (("jacobi2d", "--study", "nowhere", "--what-if", "x"), "nowhere: no such folder"),
    ],
)
def test_bad_input_is_one_line(nearpeak: Nearpeak, words: tuple[str, ...], message: str) -> None:
    code, _, err = nearpeak("app", *words)
    assert code == 2
    assert message in err


def test_a_problem_is_solved_and_drawn(tmp_path: Path) -> None:
    from nearpeak.libraries import catalogue

    try:
        catalogue.add("mpich")
    except UserError as error:
        pytest.skip(f"mpich cannot be installed: {error}")
    page = tmp_path / "solution.html"
    words = ["jacobi2d", "--mpi", "mpich", "--ranks", "1", "--sizes", "16", "--plot", str(page)]
    done = subprocess.run(
        [NEARPEAK, "app", *words, "--tolerance", "1e-6"],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "# solved after" in done.stdout
    assert "16 x 16 cells" in page.read_text()
