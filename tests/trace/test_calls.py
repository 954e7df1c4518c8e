# SPDX-License-Identifier: Apache-2.0
"""The table of MPI's functions (preload/calls) against the header of each library that is there."""

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from nearpeak.errors import UserError
from nearpeak.libraries.build import build_trace, compiler, kit_for, preloaded_sources, sources
from nearpeak.libraries.discover import resolve
from nearpeak.libraries.library import Library
from nearpeak.trace.trace import MOVING

INCLUDING = """
#include <mpi.h>
#define CALL(kind, function, operation, parameters, arguments, ...) \\
  @ kind function operation parameters arguments = __VA_ARGS__ @
#include "calls/calls.inc"
"""
SKIPPED = ("-DOMPI_SKIP_MPICXX", "-DMPICH_SKIP_MPICXX")
KINDS = {"waits", "tells", "begins", "starts", "frees", "drops", "enters", "leaves"}


@pytest.fixture(params=["openmpi", "mpich"])
def library(request: pytest.FixtureRequest, installed: Callable[[str], Library]) -> Library:
    """Each library in turn, installed if need be."""
    return installed(request.param)


def preprocessed(library: Library) -> str:
    """The header of a library, then the table in its form for that, with whole strings."""
    header = kit_for(library).header
    words = [
        f"-I{preloaded_sources()}",
        "-isystem",
        str(header.parent),
        *SKIPPED,
        "-P",
        "-E",
        "-x",
        "c++",
        "-",
    ]
    done = subprocess.run(
        [*compiler(), *words], input=INCLUDING, capture_output=True, text=True, check=True
    )
    return done.stdout.replace('" "', "")


def in_header(text: str) -> set[str]:
    """The functions that it declares."""
    statements = [word for word in text.split(";") if "typedef" not in word]
    found = (re.search(r"\b(MPI_\w+)\s*\(", statement) for statement in statements)
    return {match[1] for match in found if match}


def others() -> set[str]:
    """The functions that are not in the table, with a reason for each group."""
    lines = (preloaded_sources() / "calls" / "others.txt").read_text().splitlines()
    names = [word for line in lines if not line.startswith("#") for word in line.split()]
    assert len(names) == len(set(names))
    return set(names)


def test_every_function_is_in_the_table_or_among_the_others(library: Library) -> None:
    header, _, table = preprocessed(library).partition("@")
    rows = re.findall(r"(\w+) (MPI_\w+) \"(MPI_\w+)\"", table)
    listed = [function for _, function, _ in rows]
    declared = in_header(header)
    assert {"MPI_Send", "MPI_Comm_rank", "MPI_File_read_at"} <= declared
    assert len(listed) == len(set(listed))
    assert {kind for kind, _, _ in rows} <= KINDS
    for _, function, operation in rows:
        assert function in (operation, f"{operation}_c")
    assert declared - set(listed) - others() == set()
    assert set(listed) - declared == set()
    assert set(listed) & others() == set()


@pytest.mark.parametrize("source", ["trace/calls.cpp", "layer/intercept/calls.cpp"])
def test_parts_are_taken_as_the_header_has_them(
    installed: Callable[[str], Library], tmp_path: Path, source: str
) -> None:
    """MPICH 4.0 has those of MPI_Pready_list without const, as no later one does."""
    for header in kit_for(installed("mpich")).header.parent.glob("*.h"):
        text = re.sub(r"(\bP?MPI_Pready_list\(int \w+, )const ", r"\1", header.read_text())
        (tmp_path / header.name).write_text(text)
    changed = (tmp_path / "mpi_proto.h").read_text()
    assert re.search(r"\bMPI_Pready_list\(int \w+, int ", changed)
    include = [f"-I{sources()}", f"-I{preloaded_sources()}", "-isystem", str(tmp_path), *SKIPPED]
    words = ["-std=c++20", "-fsyntax-only", '-DNEARPEAK_MPI_SONAME="libmpi.so"', *include]
    subprocess.run([*compiler(), *words, str(preloaded_sources() / source)], check=True)


def test_calls_that_move_data_of_unknown_size_are_known(library: Library) -> None:
    """Else their time would be that of waiting."""
    _, _, table = preprocessed(library).partition("@")
    rows = re.findall(r"@\s*(\w+)\s+MPI_\w+\s+\"(MPI_\w+)\"[^@]*?=([^@]*)@", table)
    assert len(rows) > 200
    unsized = {
        operation
        for kind, operation, what in rows
        if kind != "begins" and re.search(r"\bunsized\(|\broot < 0 \?", what)
    }
    assert unsized == MOVING


def test_what_is_preloaded_has_the_functions_of_the_table_alone(library: Library) -> None:
    """A program that looks whether its library has a function finds what the library has."""
    _, _, table = preprocessed(library).partition("@")
    listed = set(re.findall(r"\w+ (MPI_\w+) \"MPI_", table))
    shown = subprocess.run(
        ["nm", "-D", "--defined-only", str(build_trace(library))],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    names = {line.split()[-1] for line in shown.splitlines()}
    profiled = {f"P{name}" for name in listed} if library.abi == "openmpi" else set()
    assert names == listed | profiled | {"dlsym"}  # by which the others are looked up


def test_the_others_are_functions_of_some_library() -> None:
    """A name that no header has is a slip."""
    known: set[str] = set()
    for name in ("openmpi", "mpich"):
        try:
            known |= in_header(preprocessed(resolve(name)).partition("@")[0])
        except UserError as error:
            pytest.skip(f"{name} is not there: {error}")
    assert others() - known == set()
