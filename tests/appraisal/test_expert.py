# SPDX-License-Identifier: Apache-2.0
"""Tables that an expert would judge at sight get the verdicts that expert.toml has, as printed."""

from pathlib import Path

import msgspec
import pytest
from made_tables import appraised

from nearpeak.report.appraisals import lines

FOLDER = Path(__file__).parent / "expert"
WIDTH = 98  # of a line on a terminal, after its indent


class Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A table, and the verdict that it must get."""

    file: str
    machine: str  # as --machine takes it; empty: the table alone
    state: str
    figure: str
    verdict: str
    reason: str  # empty: none is printed
    why: str

    @property
    def text(self) -> str:
        """Its output."""
        return (FOLDER / f"{self.file}.txt").read_text(encoding="utf-8")


class Tables(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All of them."""

    table: list[Table]


TABLES = msgspec.toml.decode((FOLDER / "expert.toml").read_bytes(), type=Tables).table


@pytest.mark.parametrize("table", TABLES, ids=lambda table: f"{table.file}-{table.machine}")
def test_a_table_gets_the_verdict_of_an_expert(table: Table) -> None:
    appraisal = appraised(table.text, table.machine)
    printed = list(lines(appraisal))
    reasons = [line for line in printed if line.startswith(("Because", "Likely", "Note"))]
    assert appraisal.state == table.state
    assert table.figure == printed[0]
    assert table.verdict in printed
    assert reasons == ([table.reason] if table.reason else [])
    assert max(map(len, printed)) <= WIDTH


def test_each_table_says_that_it_is_written_by_hand() -> None:
    assert {table.file for table in TABLES} == {file.stem for file in FOLDER.glob("*.txt")}
    assert all(table.text.startswith("Written by hand:") for table in TABLES)
