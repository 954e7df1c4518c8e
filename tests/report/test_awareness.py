# SPDX-License-Identifier: Apache-2.0
"""The table of what each library does with GPU buffers."""

import msgspec

from nearpeak.document.model import Value
from nearpeak.report import awareness
from nearpeak.results.results import Results


def _rows(results: Results) -> dict[str, dict[str, Value]]:
    (group,) = awareness.table(results).groups
    return {row.head: dict(row.values) for row in group.rows}


def test_the_table_has_a_column_for_each_operation_and_kind(gpu: Results) -> None:
    table = awareness.table(gpu)
    assert table.spans == [("D,D", 2), ("H,D", 2)]
    assert [column.title for column in table.columns] == ["send", "isend"] * 2
    crashed = _rows(gpu)["mpich"]["D,D send"]
    assert (crashed.text, crashed.tone, crashed.hover) == ("crashed", "bad", "ended by SIGSEGV")
    done = _rows(gpu)["openmpi"]["D,D send"]
    assert (done.text, done.tone) == ("✓", "good")


def test_what_is_ok_alone_is_told_apart(gpu: Results) -> None:
    gpu.awareness[0] = msgspec.structs.replace(
        gpu.awareness[0], after_others="crashed", message="crashed after D,D isend"
    )
    value = _rows(gpu)["openmpi"]["D,D send"]
    assert (value.text, value.tone, value.hover) == ("ok alone", "note", "crashed after D,D isend")


def test_what_was_not_tried_has_no_entry(gpu: Results) -> None:
    del gpu.awareness[0]
    assert "D,D send" not in _rows(gpu)["openmpi"]


def test_a_study_of_host_memory_has_none(plain: Results) -> None:
    assert awareness.table(plain).groups == []


def test_many_operations_have_a_row_each(gpu: Results) -> None:
    """As columns they would make a table several times as wide as any window."""
    (first, *_) = gpu.awareness
    many = [f"op{number}" for number in range(awareness.LONG + 1)]
    gpu.awareness = [
        msgspec.structs.replace(first, library=library, operation=operation, buffers=buffers)
        for library in ("openmpi", "mpich")
        for buffers in ("D,D", "H,D")
        for operation in many
    ]
    table = awareness.table(gpu)
    assert table.spans == [("openmpi", 2), ("mpich", 2)]
    assert [column.title for column in table.columns] == ["D,D", "H,D"] * 2
    assert list(_rows(gpu)) == many
    assert table.folded.endswith(" 25 operations")
