# SPDX-License-Identifier: Apache-2.0
"""The file of rules as Open MPI reads it; tests/mpi/test_tune.py has it read."""

from pathlib import Path

from nearpeak.libraries.rules import Range, Table, rules_text

PAGE = Path(__file__).parents[2] / "docs" / "methods" / "tune.md"


def numbers(text: str) -> list[list[int]]:
    """Those of each line, without comments."""
    lines = [line.partition("#")[0].split() for line in text.splitlines()]
    return [list(map(int, words)) for words in lines if words]


def test_a_table_is_for_its_ranks_alone() -> None:
    own = Range(first=0)
    ring = Range(first=1024, algorithm=5, segment=4096, words="ring in parts of 4 KiB")
    tables = [
        Table(name="allreduce", operation=2, ranks=4, ranges=[own, ring]),
        Table(name="bcast", operation=7, ranks=4, ranges=[Range(first=0, algorithm=1, words="x")]),
    ]
    text = rules_text(tables, "by 2 of us")
    assert numbers(text) == [
        [2],
        *([2], [3], [0, 1], [0, 0, 0, 0]),
        *([4, 2], [0, 0, 0, 0], [1024, 5, 4, 4096]),
        *([5, 1], [0, 0, 0, 0]),
        *([7], [3], [0, 1], [0, 0, 0, 0], [4, 1], [0, 1, 4, 0], [5, 1], [0, 0, 0, 0]),
    ]
    assert text.startswith("# by 2 of us\n# A line: from so many bytes")
    assert "\n1024 5 4 4096 # ring in parts of 4 KiB\n" in text


def test_the_documented_file_is_what_is_written() -> None:
    ranges = [
        Range(first=0, algorithm=3, words="recursive_doubling"),
        Range(first=16384, algorithm=5, segment=32768, words="segmented_ring in parts of 32 KiB"),
        Range(first=1048577),
    ]
    table = Table(name="allreduce", operation=2, ranks=2, ranges=ranges)
    lines = rules_text([table], "openmpi 5.0.11, by nearpeak tune").splitlines()
    assert "\n".join(f"    {line}" for line in lines) in PAGE.read_text("utf-8")
