# SPDX-License-Identifier: Apache-2.0
"""The test for ReFrame in examples/reframe, run by ReFrame itself."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nearpeak.libraries.build import build_mpi, build_native

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "reframe"
RECORDED = ROOT / "examples" / "h200x2-shipped-tuned" / "results.json"
PROGRAMS = Path(sys.executable).parent
STUDY = {"mpi": "mpich", "benchmarks": "latency", "sizes": "8"}
REACHED = "host-host same-numa:latency:8<=1000ms"
SHORT = "options=--launches,2,--slot-ms,10"


def command(settings: str, folder: Path, *more: str, **variables: str) -> list[str]:
    """Runs the test with all that it writes in `folder`."""
    chosen = [word for name, value in variables.items() for word in ("-S", f"{name}={value}")]
    files = [f"--prefix={folder}", f"--report-file={folder}/report.json"]
    line = [str(PROGRAMS / "reframe"), "-C", str(EXAMPLE / settings), *files]
    return [*line, "-c", str(EXAMPLE / "nearpeak_study.py"), *chosen, *more, "-r"]


def outcome(folder: Path, done: "subprocess.CompletedProcess[str]") -> dict[str, Any]:
    """What ReFrame reports of the test; its exit status says the same."""
    report = folder / "report.json"
    assert report.exists(), done.stdout + done.stderr
    [run] = json.loads(report.read_text())["runs"]
    [case] = run["testcases"]
    assert done.returncode == (case["result"] == "fail"), done.stdout
    return dict(case)


def figures(case: dict[str, Any]) -> dict[str, float]:
    return {name.split(":")[-1]: figure[0] for name, figure in case["perfvalues"].items()}


def expected(results: dict[str, Any]) -> list[float]:
    """The figures of a study, with parts of ceilings."""
    pairs = [(cell["median"], cell["fraction"]) for cell in results["cells"]]
    return [value for pair in pairs for value in pair if value is not None]


@pytest.fixture
def recorded(tmp_path: Path) -> Callable[..., dict[str, Any]]:
    """Runs the test with a program in nearpeak's place whose study is a recorded one."""

    def run(ends: str = "", change: Callable[[Any], None] = id, **variables: str) -> dict[str, Any]:
        results = json.loads(RECORDED.read_text())
        change(results)
        (tmp_path / "results.json").write_text(json.dumps(results))
        program = tmp_path / "bin" / "nearpeak"
        program.parent.mkdir()
        copy = f"echo \"$*\"; mkdir study; cp '{tmp_path}/results.json' study"
        program.write_text(f"#!/bin/sh\n{copy}\n{ends}\n")
        program.chmod(0o755)
        environment = {**os.environ, "PATH": f"{program.parent}:{os.environ['PATH']}"}
        done = subprocess.run(
            command("local.py", tmp_path, **variables),
            env={**environment, "TMPDIR": str(tmp_path)},
            capture_output=True,
            text=True,
            check=False,
        )
        return outcome(tmp_path, done)

    return run


def test_the_figures_are_those_of_the_study(recorded: Callable[..., Any]) -> None:
    case = recorded(least="latency 8:0.04,bw 16777216:0.0001", sizes="8,16M", paths="host-gpu near")
    assert case["result"] == "pass"
    told = figures(case)
    assert list(told.values()) == expected(json.loads(RECORDED.read_text()))
    tuned = "openmpi-cuda@tuned host-gpu near H,D latency 16777216 B"
    assert told[f"{tuned}, of ceiling"] == pytest.approx(0.222, 0.01)
    assert told[tuned] == pytest.approx(1410, 0.01)


def test_a_figure_below_its_reference_fails(recorded: Callable[..., Any]) -> None:
    case = recorded(least="latency 16777216:0.1")
    assert case["fail_phase"] == "performance"
    assert (
        "openmpi-cuda host-gpu near H,D latency 16777216 B, of ceiling=0.033" in case["fail_reason"]
    )
    assert "openmpi-cuda@tuned" not in case["fail_reason"]


def test_a_study_that_ends_with_1_fails_with_what_it_said(recorded: Callable[..., Any]) -> None:
    case = recorded(ends="echo 'Exit status 1: 1 of 2 requirements missed'; exit 1")
    assert case["fail_phase"] == "sanity"
    assert "Exit status 1: 1 of 2 requirements missed" in case["fail_reason"]


@pytest.mark.parametrize(("status", "result"), [(0, "pass"), (1, "fail"), (3, "pass")])
def test_a_history_is_kept_and_judged(
    recorded: Callable[..., Any], tmp_path: Path, status: int, result: str
) -> None:
    kept = tmp_path / "nightly studies"
    ends = f'[ "$1" != history ] || {{ echo "Exit status {status}: slower"; exit {status}; }}'
    case = recorded(ends=ends, history=str(kept), least="latency 8:0.01")
    assert case["result"] == result
    assert result == "pass" or "Exit status 1: slower" in case["fail_reason"]
    [study] = kept.iterdir()
    assert (study / "results.json").is_file()


def test_what_is_to_be_judged_must_be_there(recorded: Callable[..., Any]) -> None:
    case = recorded(least="latency 8:0.01,bibw 8:0.01")
    assert case["fail_phase"] == "sanity"
    assert "the study has no bibw 8" in case["fail_reason"]


def test_what_is_to_be_judged_must_have_a_ceiling(recorded: Callable[..., Any]) -> None:
    def take(results: Any) -> None:
        [first, *_] = (cell for cell in results["cells"] if cell["case"]["x"] == 8)
        first.update(fraction=None, no_fraction="other distance")

    case = recorded(change=take, least="latency 8:0.01")
    assert case["fail_phase"] == "sanity"
    assert "latency 8 B: other distance" in case["fail_reason"]


def test_a_study_of_this_machine(installed: Callable[[str], Any], tmp_path: Path) -> None:
    build_mpi(installed("mpich"))
    build_native()
    done = subprocess.run(
        command("local.py", tmp_path, "-S", SHORT, **STUDY, least="latency 8:0", require=REACHED),
        env={**os.environ, "PATH": f"{PROGRAMS}:{os.environ['PATH']}", "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    case = outcome(tmp_path, done)
    assert case["result"] == "pass", case["fail_reason"]
    [results] = tmp_path.glob("output/here/node/builtin/*/study/results.json")
    assert list(figures(case).values()) == expected(json.loads(results.read_text()))


def test_a_study_between_the_nodes_of_a_slurm_job(
    slurm: Any, installed: Callable[[str], Any], tmp_path: Path
) -> None:
    build_mpi(installed("mpich"))
    build_native()
    line = command(
        "slurm.py", tmp_path, "-S", SHORT, **STUDY, least="latency 8:0", nodes="2", paths=""
    )
    done = slurm.run(line, PATH=f"{PROGRAMS}:{os.environ['PATH']}", TMPDIR=str(tmp_path))
    case = outcome(tmp_path, done)
    assert case["result"] == "pass", case["fail_reason"]
    assert case["scheduler"] == "squeue"
    [name, *_] = figures(case)
    assert name == "mpich host-host two-nodes H,H latency 8 B"
