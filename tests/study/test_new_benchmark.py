# SPDX-License-Identifier: Apache-2.0
"""A benchmark is one file: those of docs/contributing/adding-a-benchmark.md, from the sources to
the report."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from nearpeak.errors import UserError
from nearpeak.libraries import catalogue

DOCUMENT = Path(__file__).parents[2] / "docs" / "contributing" / "adding-a-benchmark.md"
NEARPEAK = str(Path(sys.executable).with_name("nearpeak"))
SIZES = [8, 65536]


def held(cells: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """But for those whose CPUs were farther apart, or nearer, than those of their ceiling."""
    return [cell for cell in cells if cell["no_fraction"] != "other distance"]


def test_the_files_of_the_document_go_through_a_study(tmp_path: Path) -> None:
    try:
        catalogue.add("mpich")
    except UserError as error:
        pytest.skip(f"mpich cannot be installed: {error}")
    folder, study = tmp_path / "own", tmp_path / "study"
    folder.mkdir()
    files = re.findall(r"(\w+\.cpp)`:\n\n```cpp\n(.*?)```", DOCUMENT.read_text(), re.DOTALL)
    assert [name for name, _ in files] == ["bcast_last.cpp", "rput_latency.cpp", "red_black.cpp"]
    for name, code in files:
        (folder / name).write_text(code)
    names = ["bcast_last", "rput_latency", "red_black"]
    words = ["--mpi", "mpich", "--benchmarks", ",".join([*names, "latency"]), "--sizes", "8,64K"]
    words += ["--paths", "host-host same-numa", "--slot-ms", "5", "--launches", "2"]
    env = {**os.environ, "NEARPEAK_BENCHMARKS": str(folder)}
    done = subprocess.run(
        [NEARPEAK, "study", *words, "-o", str(study)],
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr

    results = json.loads((study / "results.json").read_text())
    cells = [cell for cell in results["cells"] if cell["case"]["benchmark"] == "bcast_last"]
    assert [cell["case"]["x"] for cell in cells] == SIZES
    assert {(cell["case"]["metric"], cell["unit"]) for cell in cells} == {("bcast_last", "us")}
    # Its `traffic` gives it a bound; the ceilings of that are measured, though nobody asks for bw.
    assert {cell["status"] for cell in cells} <= {"ok", "above ceiling"}
    assert all(cell["launches"] == 2 for cell in cells)
    assert all(cell["ceiling"]["kind"] == "bound" and cell["fraction"] > 0 for cell in held(cells))
    measured = {(ceiling["case"]["benchmark"], ceiling["kind"]) for ceiling in results["ceilings"]}
    assert measured >= {("bcast_last", "bound"), ("bw", "measured"), ("latency", "measured")}
    assert "bw" not in {cell["case"]["benchmark"] for cell in results["cells"]}
    assert "bcast_last" in (study / "report.html").read_text()
    (told,) = [
        benchmark for benchmark in results["benchmarks"] if benchmark["name"] == "bcast_last"
    ]
    assert (told["moves"], told["ceiling"]) == ({"ways": 1, "window": False}, "bound")
    assert told["default"] is False

    # Of a one-sided operation there is nothing to hold it against.
    cells = [cell for cell in results["cells"] if cell["case"]["benchmark"] == "rput_latency"]
    assert [cell["case"]["x"] for cell in cells] == SIZES
    found = {(cell["case"]["metric"], cell["unit"], cell["status"]) for cell in cells}
    assert found == {("rput_latency", "us", "ok")}
    assert all(cell["launches"] == 2 and cell["fraction"] is None for cell in cells)
    assert "rput_latency" in (study / "report.html").read_text()

    # A datatype is held against the latency of as many bytes that lie together.
    cells = [cell for cell in results["cells"] if cell["case"]["benchmark"] == "red_black"]
    assert [cell["case"]["x"] for cell in cells] == SIZES
    assert {cell["status"] for cell in cells} <= {"ok", "above ceiling"}
    assert all(cell["launches"] == 2 for cell in cells)
    cells = held(cells)
    assert all(cell["ceiling"]["kind"] == "bound" and cell["fraction"] > 0 for cell in cells)
    names = {8: "latency 8 B, ", 65536: "latency 64 KiB, "}
    assert all(cell["ceiling"]["method"].startswith(names[cell["case"]["x"]]) for cell in cells)
    # Not of blocks in which a hypervisor put the ranks far apart: it need not be the median of all.
    ranges = {
        ceiling["case"]["x"]: ceiling["range"]
        for ceiling in results["ceilings"]
        if ceiling["case"]["benchmark"] == "latency"
    }
    for cell in cells:
        low, high = ranges[cell["case"]["x"]]
        assert low <= cell["ceiling"]["value"] <= high
    assert "red_black" in (study / "report.html").read_text()
