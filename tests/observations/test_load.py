# SPDX-License-Identifier: Apache-2.0
"""Which tool's output a file is, and what is said of it where it is of none, or of several. All
texts are written by hand."""

import re
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from nearpeak.errors import UserError
from nearpeak.observations import load as load_module
from nearpeak.observations import sources
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
        ("nccl-tests", "#   size", "not say of which operation.* '# Collective test starti"),
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


def test_any_error_of_an_importer_is_one_line(
    outputs: Any, written: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: Any) -> Any:
        raise ZeroDivisionError("a\nb")

    tools = [tool._replace(load=fail) for tool in sources.all_tools()]
    monkeypatch.setattr(load_module, "all_tools", lambda: tools)
    written.write_text(outputs.BY_TOOL["osu"])
    with pytest.raises(UserError) as raised:
        load(written)
    assert str(raised.value).startswith(f"{written} cannot be read as output of ")
    assert "(ZeroDivisionError: 'a\\nb'): give what the program printed" in str(raised.value)
    assert isinstance(raised.value.__cause__, ZeroDivisionError)


@pytest.mark.parametrize(
    ("tool", "before", "after", "told"),
    [
        ("imb", " 1000 ", " 1.5 ", "is not a whole row"),
        ("imb", " 1000 ", f" {'9' * 30} ", "a count beyond"),
        ("ucx_perftest", "Message size: 8", f"Message size: {'9' * 30}", "a count beyond"),
    ],
)
def test_counts_are_bounded(
    outputs: Any, written: Path, tool: str, before: str, after: str, told: str
) -> None:
    text = outputs.BY_TOOL[tool]
    assert before in text
    written.write_text(text.replace(before, after))
    with pytest.raises(UserError, match=told):
        load(written)


def test_ranks_are_bounded(written: Path) -> None:
    json = Path(__file__).parent / "sources/nccl_tests"
    text = next(
        each for each in json.glob("*.json") if '"nthreads"' in each.read_text()
    ).read_text()
    written.write_text(re.sub(r'"nthreads": *\d+', '"nthreads": 150000000', text))
    with pytest.raises(UserError, match="ranks, more than 1048576"):
        load(written)


def test_margins_are_bounded(outputs: Any, written: Path) -> None:
    """Each heading behind something else would be a look at all lines."""
    lines = [f"{'x' * at}) {outputs.OSU}" for at in range(1, 900)]
    written.write_text("\n".join(lines))
    with pytest.raises(UserError):
        load(written)
