# SPDX-License-Identifier: Apache-2.0
"""Which tool's output a file is, and what is said of it where it is of none, or of several. All
texts are written by hand."""

from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from nearpeak.errors import UserError
from nearpeak.observations.load import load

NAMES = {
    "osu": "osu_latency",
    "imb": "IMB-MPI1",
    "nccl-tests": "all_reduce_perf",
    "perftest": "RDMA_Write BW Test",
    "nvbandwidth": "nvbandwidth",
    "ucx_perftest": "ucx_perftest",
}


@pytest.fixture
def written(tmp_path: Path) -> Path:
    return tmp_path / "out.txt"


@pytest.mark.parametrize(("first", "second"), list(permutations(NAMES, 2)))
def test_two_tools_in_one_file_are_refused_by_name(
    outputs: Any, first: str, second: str, written: Path
) -> None:
    line = outputs.BY_TOOL[first].count("\n") + 1
    written.write_text(outputs.BY_TOOL[first] + outputs.BY_TOOL[second])
    with pytest.raises(UserError) as raised:
        load(written)
    assert str(raised.value) == (
        f"{written} is of 2 runs, {NAMES[first]} in line 1 and {NAMES[second]} in line {line}:"
        " give the output of each in its own file"
    )


@pytest.mark.parametrize(
    ("more", "name"),
    [
        (
            "# OSU NCCL-CUDA Allgather Latency Test v7.5\n# Size  Avg Latency(us)\n4  1.00\n",
            "OSU NC",
        ),
        ("# OMB Python MPI Bandwidth Test\n# Size   Bandwidth (MB/s)\n4  1.00\n", "OMB Python"),
        ("#    Intel(R) MPI Benchmarks 2019 Update 6, NBC part\n", "IMB-NBC"),
        ("#    Intel (R) MPI Benchmark Suite V3.2, MPI-2 part\n", "IMB-EXT"),
        ("#    Intel(R) MPI Benchmarks 2021.3, P2P part\n", "IMB-P2P"),
        ("#    Intel(R) MPI Benchmarks 2018, MPI-IO part\n", "IMB-IO"),
        ("                    Atomic FETCH_AND_ADD Latency Test\n", "Atomic FETCH_AND_ADD"),
    ],
)
def test_so_is_what_is_of_no_tool_that_is_read(
    outputs: Any, more: str, name: str, written: Path
) -> None:
    """Its rows are no rows of the other; alone it is refused by its name, too."""
    written.write_text(outputs.OSU + more)
    with pytest.raises(UserError, match=f"is of 2 runs, osu_latency in line 1 and {name}"):
        load(written)
    written.write_text(more)
    with pytest.raises(UserError, match=f"is of '?{name}.*, which is not read here[;:] read are"):
        load(written)


def test_many_runs_are_counted(outputs: Any, written: Path) -> None:
    written.write_text(7 * outputs.NCCL)
    with pytest.raises(UserError, match=r"is of 7 runs, all_reduce_perf in .* and 3 more: give"):
        load(written)


@pytest.mark.parametrize(
    ("tool", "heading", "words"),
    [
        ("osu", "# Size", "heads a table of OMB .* add a line like '# OSU MPI Latency"),
        ("imb", "# Bench", "line 1: .* heads a table of IMB-MPI1 or IMB-MPI1-GPU, and"),
        ("nccl-tests", "#   size", "heads a table of nccl-tests.* '# Collective test starti"),
        ("perftest", " #bytes", "heads a table of perftest.* 'RDMA_Write BW Test'"),
    ],
)
def test_a_table_without_its_title_is_known(
    outputs: Any, tool: str, heading: str, words: str, written: Path
) -> None:
    text = outputs.BY_TOOL[tool]
    written.write_text(text[text.index(heading) :])
    with pytest.raises(UserError, match=words):
        load(written)


def test_what_is_in_memories_of_other_kinds_is_on_other_paths(outputs: Any, written: Path) -> None:
    """Though the paths are called alike."""
    one, two = (
        outputs.BY_TOOL["ucx_perftest"],
        outputs.BY_TOOL["ucx_perftest"].replace(":  host", ":  cuda"),
    )
    written.write_text(one + two)
    found = load(written)
    assert [path.place.ends for path in found.paths] == [("host", "host"), ("gpu", "gpu")]
    assert [launch.place for launch in found.launches] == [path.place for path in found.paths]
