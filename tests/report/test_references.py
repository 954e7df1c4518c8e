# Every figure in this file is written by hand, none was measured.
# SPDX-License-Identifier: Apache-2.0
"""The table of NCCL at its best."""

from nearpeak.report.references import table
from nearpeak.results.results import (
    AgainstReference,
    Estimated,
    OperationReference,
    OperationVariant,
    Results,
)
from nearpeak.terms.identity import Case, Place, Who


def case(**axes: str) -> Case:
    return Case(benchmark="allreduce", metric="allreduce", buffers="D,D", axes=axes, x=8)


def variant(value: float, operations: int, **axes: str) -> OperationVariant:
    return OperationVariant(case=case(**axes), value=value, ci95=None, operations=operations)


RECORD = OperationReference(
    who=Who("nccl"),
    place=Place(path="gpu-gpu nvlink"),
    variants=[
        variant(3.8, 20, calls="graph", type="float", register="symmetric"),
        variant(17.4, 1, calls="blocking", type="float"),
    ],
    libraries=[
        AgainstReference(
            who=Who("mpich+layer"),
            case=case(calls="blocking", type="float"),
            value=7.6,
            ratio=Estimated(value=2.0, ci95=(1.9, 2.1), range=(1.9, 2.1)),
            blocks=6,
        )
    ],
)


def test_a_row_says_how_and_of_how_many_calls(plain: Results) -> None:
    plain.references = [RECORD]
    [group] = table(plain).groups
    assert group.title == "gpu-gpu nvlink, nccl"
    [row] = group.rows
    assert (row.head, row.detail) == ("allreduce", "D,D, type=float")
    texts = {key: value.text for key, value in row.values.items()}
    assert texts == {
        "size": "8 B",
        "best": "3.80",
        "way": "calls=graph; register=symmetric; one of 20 calls",
        "alone": "17.4",
        "mpich+layer": "7.60",
    }
    assert row.values["mpich+layer"].notes == ("2.00x",)


def test_there_is_no_table_without_a_reference(plain: Results) -> None:
    assert table(plain).groups == []
