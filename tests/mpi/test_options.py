# SPDX-License-Identifier: Apache-2.0
"""What the programs say of their options without a launcher; the documents have all of them."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from mpi_launches import one_library

from nearpeak.launching.names import known_names
from nearpeak.libraries.build import build_mpi, build_native
from nearpeak.terms.benchmarks import FAMILIES

DOCS = Path(__file__).parents[2] / "docs"


def options(launcher: Any, program: Path) -> set[str]:
    """All options of a program, those of its subcommands too."""
    whole = launcher.ask("--help", program=program).stdout
    commands = whole.partition("SUBCOMMANDS:")[2].partition("EXAMPLES")[0]
    names = re.findall(r"^  (\w+) ", commands, flags=re.MULTILINE)
    texts = [whole, *(launcher.ask(name, "--help", program=program).stdout for name in names)]
    declared = re.compile(r"^  (?:-\w, |    )(--[a-z-]+)", flags=re.MULTILINE)
    return {option for text in texts for option in declared.findall(text)}


def test_the_programs_answer_in_any_shell(launcher: Any) -> None:
    for program in (build_mpi(launcher.library), build_native()):
        told = launcher.ask("--version", program=program)
        assert (told.returncode, told.stderr) == (0, "")
        assert re.fullmatch(rf"{program.name} \d+\.\d+\.\d+\n", told.stdout)
        assert "EXAMPLES" in launcher.ask("--help", program=program).stdout


def test_what_is_known_before_they_are_built_is_what_they_describe(launcher: Any) -> None:
    programs = (build_mpi(launcher.library), build_native())
    described = [launcher.ask("--describe", program=program).stdout for program in programs]
    told = [benchmark for text in described for benchmark in json.loads(text)["benchmarks"]]
    assert known_names() == sorted({benchmark["name"] for benchmark in told})
    assert set(FAMILIES) == {benchmark["family"] for benchmark in told}
    for benchmark in told:
        axes = {axis["name"]: axis["values"] for axis in benchmark["axes"]}
        assert (axes["reuse"] == ["fixed"]) == (benchmark["x"]["unit"] != "B"), benchmark["name"]


def test_a_command_line_is_checked_without_mpi(launcher: Any) -> None:
    assert launcher.ask("--check", "latency", "--sizes", "8").returncode == 0
    usual = ("--reuse", "fixed", "--touch", "none")  # as studies give them
    assert launcher.ask("--check", "jacobi2d", *usual).returncode == 0
    for words, said in (
        (("latency", "--sizes", "8q"), "'8q' is not a size"),
        (("osu_bw",), "OMB's osu_bw is called bw here"),
        (("bw", "-i", "10", "H", "D"), "-i is --slot-ms MS"),
        (
            ("-d", "cuda", "D", "D"),
            "the benchmark comes first, as in nearpeak-mpi latency; options of OMB have other names"
            " here: -d is not needed, D D is --buffers D,D",
        ),
        (("-i", "10", "bw"), "the benchmark comes first"),
        (("--check", "lattency"), "unknown benchmark 'lattency'"),
        ((), "name a benchmark, one of acc_latency, allgather, "),
        (("halo3d", "--solve", "1e-3", "--solution", "x"), "halo3d has nothing to solve: jacobi2d"),
        (("jacobi2d", "--solve", "nan"), "--solve: nan is no finite number above 0"),
        (("jacobi2d", "--solve", "inf"), "--solve: inf is no finite number above 0"),
        (("jacobi2d", "--solve", "0"), "--solve: 0 is no finite number above 0"),
        (("jacobi2d", "--solve", "1", "--sizes", "8,16"), "give one size, like --sizes 64"),
        (("jacobi2d", "--solve", "1", "--norm", "never"), "give --norm 1 or --norm 100"),
        (("jacobi2d", "--solve", "1", "--jsonl", "x"), "--jsonl would stay empty"),
    ):
        told = launcher.ask("--check", *words)
        assert told.returncode == 2
        assert said in told.stderr
        assert told.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ("latency", "put_bw", "get_bw", "--win", "shared"),
            "--win shared is for get_bw, behind which it stands: put_bw takes allocated, latency"
            " has no such axis",
        ),
        (("latency", "put_bw", "--win", "created", "get_bw"), ""),
        (("put_bw", "--win", "shared", "get_bw", "--win", "shared"), ""),
        (("put_bw", "get_bw", "--win", "allocated"), ""),  # the default
        (("latency", "put_bw", "--touch", "sender"), ""),  # for all
        (("put_bw", "--win", "shared"), ""),
    ],
)
def test_whose_an_axis_is_that_looks_as_if_it_were_for_all(
    launcher: Any, words: tuple[str, ...], said: str
) -> None:
    told = launcher.ask("--check", *words)
    assert (told.returncode, told.stderr) == (0, said and f"nearpeak-mpi: {said}\n")


@one_library
def test_every_option_is_documented(launcher: Any) -> None:
    document = (DOCS / "reference" / "programs.md").read_text()
    there = options(launcher, build_mpi(launcher.library)) | options(launcher, build_native())
    assert {"--sizes", "--staging", "--peer", "--verbose", "--check"} <= there
    assert {option for option in there if f"`{option}`" not in document} == set()
    rows = re.findall(r"^\| (`--.*?) \|", document, flags=re.MULTILINE)
    assert {option for row in rows for option in re.findall(r"--[a-z-]+", row)} <= there
