# SPDX-License-Identifier: Apache-2.0
"""Compares docs/contributing/layer-design.md on each call with the table of calls and with what
the layer does."""

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from nearpeak.libraries import standard_abi
from nearpeak.libraries.build import build_layer, compiler, kit_for, preloaded_sources, sources
from nearpeak.libraries.library import Library

DOCUMENT = Path(__file__).parents[2] / "docs" / "contributing" / "layer-design.md"
INCLUDING = """
#include "layer/intercept/interceptions.hpp"
#define CALL(kind, function, operation, parameters, arguments, ...) @ function parameters @
#include "calls/calls.inc"
#include "layer/intercept/asked.inc"
"""
SKIPPED = ("-DOMPI_SKIP_MPICXX", "-DMPICH_SKIP_MPICXX")
# What no header of the standard has: what applications ask (layer/intercept/support.cpp), and
# look up functions by (preload/calls/lookup.cpp).
ASKED = {
    "openmpi": {"MPIX_Query_cuda_support", "dlsym"},
    "mpich": {"dlsym"}
    | {
        f"{prefix}MPIX_{name}"
        for prefix in ("", "P")
        for name in ("Query_cuda_support", "GPU_query_support")
    },
}
ASKED[standard_abi.NAME] = ASKED["mpich"]
HEADINGS = ("Done", "Refused", "Passed on")


@pytest.fixture(params=["openmpi", "mpich", "standard"])
def library(request: pytest.FixtureRequest, installed: Callable[[str], Library]) -> Library:
    """Each library in turn, installed if need be; and MPICH by the standard ABI."""
    if request.param == "standard":
        return standard_abi.by_it(installed("mpich"))
    return installed(request.param)


def preprocessed(library: Library) -> str:
    """What the layer does, and the table, in their form for a library."""
    include = [
        f"-I{sources()}",
        f"-I{preloaded_sources()}",
        "-isystem",
        str(kit_for(library).header.parent),
    ]
    abi = ["-DNEARPEAK_STANDARD_ABI"] if library.abi == standard_abi.NAME else []
    done = subprocess.run(
        [*compiler(), "-std=c++20", *include, *SKIPPED, *abi, "-P", "-E", "-x", "c++", "-"],
        input=INCLUDING,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def calls_of(library: Library) -> dict[str, set[str]]:
    """The calls that a library has, by what is done with them; with large counts as without."""
    text = preprocessed(library)
    done = set(re.findall(r"For<&\s*(MPI_\w+)\s*>", text))
    rows = dict(re.findall(r"@\s*(MPI_\w+)\s*(\(.*?\))\s*@", text, re.DOTALL))
    assert {"MPI_Send", "MPI_Bcast", "MPI_Barrier"} <= set(rows)
    assert done <= set(rows)
    buffers = {name for name, parameters in rows.items() if re.search(r"\bvoid\s*\*", parameters)}
    found = (done, buffers - done, set(rows) - buffers - done)
    return {
        heading: {name.removesuffix("_c") for name in names}
        for heading, names in zip(HEADINGS, found, strict=True)
    }


def documented() -> dict[str, set[str]]:
    """The same, as the document says."""
    text = DOCUMENT.read_text("utf-8")
    found = {}
    for heading in HEADINGS:
        section = re.search(rf"^\*\*{heading}\*\*(.*?)(?=^\*\*|^#)", text, re.DOTALL | re.MULTILINE)
        assert section, heading
        found[heading] = {f"MPI_{name}" for name in re.findall(r"`(\w+)`", section[1])}
    return found


def test_each_call_is_said_to_be_what_it_is(library: Library) -> None:
    said = documented()
    for heading, calls in calls_of(library).items():
        assert calls - said[heading] == set()
        others = set().union(*(said[other] for other in HEADINGS if other != heading))
        assert calls & others == set()


def test_what_is_said_is_of_some_library(installed: Callable[[str], Library]) -> None:
    libraries = [calls_of(installed(name)) for name in ("openmpi", "mpich")]
    for heading, names in documented().items():
        assert names - set().union(*(calls[heading] for calls in libraries)) == set()


def test_the_layer_has_the_functions_of_the_table_alone(library: Library) -> None:
    """A program that looks whether its library has a function finds what the library has."""
    listed = set(re.findall(r"@\s*(MPI_\w+)", preprocessed(library)))
    shown = subprocess.run(
        ["nm", "-D", "--defined-only", str(build_layer(library))],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    names = {line.split()[-1] for line in shown.splitlines()}
    assert names - ASKED[library.abi] == listed | {f"P{name}" for name in listed}
    assert names >= ASKED[library.abi]
