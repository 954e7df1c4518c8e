# SPDX-License-Identifier: Apache-2.0
"""The programs know the variables in which launchers tell ranks, as Python does."""

import re
from pathlib import Path

import pytest

from nearpeak.libraries import launchers

BENCH = Path(__file__).parents[1] / "bench"


@pytest.mark.parametrize(
    ("source", "variables"),
    [("options/launched.cpp", ["RANK", "LOCAL_RANK"]), ("trace/table.cpp", ["LOCAL_RANK"])],
)
def test_the_programs_know_the_variables_of_each_launcher(
    source: str, variables: list[str]
) -> None:
    text = (BENCH / source).read_text(encoding="utf-8")
    told = {getattr(module, name) for module in launchers.modules() for name in variables}
    assert [name for name in sorted(told) if f'"{name}"' not in text] == []


def test_both_know_the_same_variables_of_local_ranks() -> None:
    """One list is of the programs, the other is linked into applications."""
    found = [
        set(re.findall(r'"(\w+_LOCAL_?(?:RANK|RANKID|ID)|MPI_LOCALRANKID)"', text))
        for file in ("options/launched.cpp", "trace/table.cpp")
        for text in [(BENCH / file).read_text(encoding="utf-8")]
    ]
    assert len(found[0]) == 8
    assert found[0] == found[1]
