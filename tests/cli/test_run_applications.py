# SPDX-License-Identifier: Apache-2.0
"""`nearpeak run` of an application: a problem that is solved, and a time that is predicted."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from mpi_launches import LIMIT

from nearpeak.errors import UserError

NEARPEAK = str(Path(sys.executable).with_name("nearpeak"))
Nearpeak = Callable[..., tuple[int, str, str]]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ("jacob2d", "--tolerance", "1"),
            "unknown benchmark 'jacob2d'; did you mean 'jacobi2d'?",
        ),
        (("jacobi2d", "--what-if", "x"), "--what-if and --study go together: give both"),
        (("jacobi2d", "--study", "x"), "--what-if and --study go together: give both"),
        (("jacobi2d", "--plot", "x.html"), "--plot and --solution go with --tolerance DISTANCE"),
        (("jacobi2d", "--solve", "1"), "--solve of nearpeak-mpi is --tolerance here"),
        (("jacobi2d", "--tolerance", "1", "--plot", "x.bmp"), "one of .html, .png, .svg, .pdf"),
        (
            ("jacobi2d", "--tolerance", "1", "--plot", "no/x.html"),
            "cannot write no/x.html: No such",
        ),
        (
            ("jacobi2d", "--tolerance", "1", "--plot", "x.html", "--solution", "x.html"),
            "--plot and --solution are both x.html: give each a file of its own",
        ),
        (("jacobi2d", "--tolerance", "1", "--solution", "no/x"), "cannot write no/x: No such file"),
        (("jacobi2d", "--tolerance", "nan"), "--tolerance nan: give a number above 0, like 1e-6"),
        (("jacobi2d", "--tolerance", "inf"), "--tolerance inf: give a number above 0"),
        (("jacobi2d", "--tolerance", "0"), "--tolerance 0: give a number above 0"),
        (("jacobi2d", "--tolerance", "-1e-3"), "--tolerance -1e-3: give a number above 0"),
        (("jacobi2d", "--tolerance", "small"), "--tolerance small: give a number above 0"),
        (("jacobi2d", "--tolerance", "1", "--solve=1"), "--solve of nearpeak-mpi is --tolerance"),
        (("jacobi2d", "--tolerance", "1"), "name a library with --mpi"),
        (("jacobi2d", "--study", "nowhere", "--what-if", "x"), "nowhere: no such folder"),
    ],
)
def test_bad_input_is_one_line(nearpeak: Nearpeak, words: tuple[str, ...], message: str) -> None:
    code, _, err = nearpeak("run", *words)
    assert code == 2
    assert message in err


@pytest.mark.parametrize(
    "more",
    [
        ("--mpi", "mpich"),
        ("--ranks", "2"),
        ("--buffers", "H,H"),
        ("--oversubscribe",),
        ("--hosts", "a,b"),
        ("--tolerance", "1"),
        ("--plot", "x.html"),
        ("--solution", "x.json"),
        ("--sizes", "64"),
    ],
)
def test_a_prediction_takes_nothing_else(nearpeak: Nearpeak, more: tuple[str, ...]) -> None:
    code, _, err = nearpeak("run", "jacobi2d", "--study", "x", "--what-if", "one", *more)
    assert code == 2
    assert f"--what-if goes only with --study: leave out {more[0]}" in err


def test_a_prediction_is_of_an_application_of_the_study(
    nearpeak: Nearpeak, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = SimpleNamespace(applications=[])
    monkeypatch.setattr("nearpeak.findings.build.build_results", lambda *_: results)
    code, _, err = nearpeak("run", "another_machines", "--study", "x", "--what-if", "mpich")
    assert code == 2
    assert "the study has no application 'another_machines'" in err


def test_a_prediction_needs_another_library(
    nearpeak: Nearpeak, monkeypatch: pytest.MonkeyPatch
) -> None:
    case, who = SimpleNamespace(benchmark="jacobi2d"), SimpleNamespace(label="mpich")
    namespace = SimpleNamespace(cell=SimpleNamespace(case=case, who=who))
    results = SimpleNamespace(applications=[namespace])
    monkeypatch.setattr("nearpeak.findings.build.build_results", lambda *_: results)
    code, _, err = nearpeak("run", "jacobi2d", "--study", "x", "--what-if", "mpich")
    assert code == 2
    assert "the study measured jacobi2d with this library only" in err


def test_a_problem_is_solved_and_drawn(tmp_path: Path) -> None:
    from nearpeak.libraries import catalogue

    try:
        catalogue.add("mpich")
    except UserError as error:
        pytest.skip(f"mpich cannot be installed: {error}")
    page, file = tmp_path / "solution.html", tmp_path / "solution.json"
    words = ["jacobi2d", "--mpi", "mpich", "--ranks", "1", "--sizes", "16", "--plot", str(page)]
    words += ["--solution", str(file)]
    done = subprocess.run(
        [NEARPEAK, "run", *words, "--tolerance", "1e-6"],
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "# solved after" in done.stdout
    assert "16 x 16 cells" in page.read_text()
    assert '"rows":16' in file.read_text()
