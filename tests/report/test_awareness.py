# SPDX-License-Identifier: Apache-2.0
"""The matrix of what each library does with device buffers."""

from nearpeak.report import awareness
from nearpeak.results.model import Results


def test_the_matrix_has_a_column_for_each_operation_and_kind(gpu: Results) -> None:
    found = awareness.matrix(gpu)
    assert found.columns == [("D,D", "send"), ("D,D", "isend"), ("H,D", "send"), ("H,D", "isend")]
    assert found.spans == [("D,D", 2), ("H,D", 2)]
    rows = dict(found.rows)
    assert rows["mpich"]["D,D", "send"].status == "crashed"
    assert rows["openmpi"]["D,D", "send"].status == "ok"


def test_what_was_not_tried_has_no_entry(gpu: Results) -> None:
    del gpu.awareness[0]
    assert ("D,D", "send") not in dict(awareness.matrix(gpu).rows)["openmpi"]


def test_a_study_of_host_memory_has_none(plain: Results) -> None:
    assert awareness.matrix(plain).rows == []
