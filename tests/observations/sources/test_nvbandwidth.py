# SPDX-License-Identifier: Apache-2.0
"""Output of nvbandwidth 0.8 for two GPUs, written by hand as its source prints."""

import json
from pathlib import Path

import pytest

from nearpeak.errors import UserError
from nearpeak.findings.build import build_results
from nearpeak.observations.load import load
from nearpeak.observations.printed import read
from nearpeak.observations.sources.nvbandwidth import TOOL
from nearpeak.report.page import write_report
from nearpeak.results.results import Cell

FILES = Path(__file__).with_name("nvbandwidth")
TEXT = (FILES / "all.txt").read_text()
JSON = (FILES / "all.json").read_text()
MIB_512 = 512 << 20


@pytest.fixture
def written(tmp_path: Path) -> Path:
    return tmp_path / "out.txt"


def figures(file: Path) -> dict[tuple[str, ...], float | None]:
    def key(cell: Cell) -> tuple[str, ...]:
        return (cell.who.settings, cell.case.benchmark, cell.case.buffers, *cell.place.pair)

    return {key(cell): cell.median for cell in build_results(file).cells}


def test_the_cells_of_its_matrices_are_pairs(tmp_path: Path) -> None:
    assert figures(FILES / "all.txt") == {
        ("ce", "bw", "P,D", "host", "gpu0"): 55.2,
        ("ce", "bw", "P,D", "host", "gpu1"): 55.4,
        ("ce", "bw", "D,P", "host", "gpu0"): 54.1,
        ("ce", "bw", "D,P", "host", "gpu1"): 54.3,
        ("sm", "bw", "P,D", "host", "gpu0"): 54.8,
        ("sm", "bw", "P,D", "host", "gpu1"): 54.9,
        # What is read goes from the GPU of the column into that of the row.
        ("read-ce", "bw", "D,D", "1", "0"): 390.1,
        ("read-ce", "bw", "D,D", "0", "1"): 390.2,
        ("write-ce", "bw", "D,D", "0", "1"): 395.1,
        ("write-ce", "bw", "D,D", "1", "0"): 395.2,
        ("read-ce", "bibw", "D,D", "0", "1"): 761.2,
        ("read-ce", "bibw", "D,D", "1", "0"): 761.4,
    }
    results = build_results(FILES / "all.txt")
    assert {cell.case.x for cell in results.cells} == {MIB_512}
    assert {cell.ci95 for cell in results.cells} == {None}
    [info] = results.libraries
    assert (info.name, info.version, info.mpi) == ("nvbandwidth", "v0.8", False)
    assert [given.name for given in info.settings] == ["ce", "read-ce", "write-ce", "sm"]
    assert {"host-gpu", "gpu-gpu"} == {matrix.kind for matrix in results.pairs}
    assert write_report(results, tmp_path, []).is_file()


def test_json_has_the_same() -> None:
    """There the rows of three matrices stand in one, of which the last is the sum."""
    assert figures(FILES / "all.json") == {
        ("ce", "bw", "P,D", "host", "gpu0"): 55.2,
        ("ce", "bw", "P,D", "host", "gpu1"): 55.4,
        ("read-ce", "bibw", "D,D", "0", "1"): 761.2,
        ("read-ce", "bibw", "D,D", "1", "0"): 761.4,
    }


@pytest.mark.parametrize("name", ["all.txt", "all.json"])
def test_gpus_are_known_by_their_pci_addresses(name: str) -> None:
    found = {end.gpu for path in load(FILES / name).paths for end in path.ends}
    assert found == {None, "0000:18:00.0", "0000:2a:00.0"}


def test_what_nothing_here_measures_is_passed_over_and_named() -> None:
    [scope] = {library.scope for library in load(FILES / "all.txt").libraries}
    assert scope.endswith(
        "Passed over, as nothing here measures the same: host_to_device_bidirectional_memcpy_ce,"
        " host_device_latency_sm."
    )
    assert "512 MiB are taken, its default" in scope


def test_one_gpu_has_a_table_and_no_matrix(written: Path) -> None:
    lines = "           0\n 0     12.98\n\nSUM device_to_host_memcpy_ce 12.98\n"
    head = "nvbandwidth Version: v0.7\n\nRunning device_to_host_memcpy_ce.\n"
    written.write_text(head + lines)
    results = build_results(written)
    assert [(cell.place.pair, cell.median) for cell in results.cells] == [((), 12.98)]
    assert not results.pairs


@pytest.mark.parametrize(
    ("version", "more", "mib"),
    [
        ("v0.2", "", 64),
        ("v0.4", "", 64),
        ("v0.5", "", 64),
        ("v0.6", "", 64),
        ("v0.9", "", 512),
        ("v0.10.0", "", 512),
        ("v0.8", "bufferSize: 1024\n", 1024),
    ],
)
def test_the_size_is_the_default_unless_it_was_written_into_the_file(
    written: Path, version: str, more: str, mib: int
) -> None:
    written.write_text(TEXT.replace("v0.8\n", f"{version}\n{more}", 1))
    assert {observed.case.x for observed in load(written).observed} == {mib << 20}
    taken = any("its default" in library.scope for library in load(written).libraries)
    assert taken == (not more)


def test_the_size_can_be_a_member_of_the_json(written: Path) -> None:
    whole = json.loads(JSON)
    whole["nvbandwidth"]["bufferSize"] = 64
    written.write_text(json.dumps(whole))
    assert {observed.case.x for observed in load(written).observed} == {64 << 20}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (TEXT.replace("v0.8", "v0.1", 1), "is of nvbandwidth 'v0.1'; read are v0.2, v0.4, v0.5, v"),
        (TEXT[: TEXT.index("SUM device_to_host")], "device_to_host_memcpy_ce did not come to its"),
        (TEXT[: TEXT.index("memcpy CE GPU(row) <-> GPU(column) Read2")], "did not come to its end"),
        (TEXT.replace("Waived: ", "Running all_to_host_memcpy_ce.", 1), "all_to_host_memcpy_ce "),
        (TEXT.replace(" 0     54.10     54.30", " 0     54.10     54"), "54' is not a whole row"),
        (TEXT.replace(" 0     54.10     54.30", " 0     54.10"), "line 22: .* is not a whole row"),
        (TEXT + TEXT, "is of 2 runs, nvbandwidth in line 1 and nvband"),
        (TEXT[: TEXT.index("Running")], "holds no figures: give the whole output"),
        (
            TEXT.replace("node17", "NOTE: You have chosen a buffer size that is smaller than the"
                         " default buffer size. It is suggested"),
            "is of smaller copies than usual, .* run it without -b, or add the line",
        ),
        (JSON[:-20], "is not the whole JSON of nvbandwidth"),
        (JSON.replace('"55.2"', '"x"'), "the matrix of host_to_device_memcpy_ce is none"),
        (JSON.replace('"761.4",', ""), "the matrix of device_to_device_bidirectional_memcpy_read"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_one_line(written: Path, text: str, message: str) -> None:
    written.write_text(text)
    assert TOOL.titles(read(written))
    with pytest.raises(UserError, match=message):
        load(written)


def test_a_testcase_that_failed_is_named(written: Path) -> None:
    written.write_text(TEXT.replace("Waived: ", "Running one_to_all_read_ce.\nError: no memory"))
    [scope] = {library.scope for library in load(written).libraries}
    assert "one_to_all_read_ce" in scope


@pytest.mark.parametrize("name", ["host_to_device_memcpy_ce", "device_to_host_memcpy_sm"])
def test_a_matrix_is_named_by_its_sum(written: Path, name: str) -> None:
    """Where somebody left out the line before it."""
    head = "nvbandwidth Version: v0.8\n...\nmemcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)\n"
    matrix = f"           0\n 0     12.98\n\nSUM {name} 12.98\n"
    written.write_text(head + matrix)
    assert [each.summary.median for each in load(written).observed] == [12.98]
    written.write_text(head + matrix[: matrix.index("SUM")])
    with pytest.raises(UserError, match="the last matrix did not come to its end: give the whole"):
        load(written)


def test_a_testcase_that_was_given_up_is_told_with_the_reason(written: Path) -> None:
    head = "nvbandwidth Version: v0.8\nRunning device_to_device_memcpy_read_ce.\n"
    written.write_text(f"{head}ASSERT in expression flag == 0 in void f() : memcpy.cpp:165\n")
    with pytest.raises(UserError, match=r"its end, as line 3 says: ASSERT in .* again"):
        load(written)
