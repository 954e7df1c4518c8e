# SPDX-License-Identifier: Apache-2.0
"""The recorded studies: what is shown of them is what their records say."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from nearpeak.results.build import build_results
from nearpeak.results.model import Results

EXAMPLES = Path(__file__).parents[2] / "examples"


def same(one: Any, other: Any) -> None:
    """Equal but for the last digits, which another CPU may round in another way."""
    if isinstance(one, dict):
        assert one.keys() == other.keys()
        one, other = list(one.values()), list(other.values())
    if isinstance(one, list | tuple):
        for each, its in zip(one, other, strict=True):
            same(each, its)
    else:
        assert one == (pytest.approx(other, rel=1e-9) if isinstance(one, float) else other)


@pytest.mark.parametrize("name", sorted(file.parent.name for file in EXAMPLES.glob("*/plan.json")))
def test_results_are_those_of_the_records(name: str) -> None:
    folder = EXAMPLES / name
    shown = msgspec.json.decode((folder / "results.json").read_bytes(), type=Results)
    same(msgspec.to_builtins(build_results(folder)), msgspec.to_builtins(shown))
    assert all(cell.status == "ok" for cell in shown.cells)
    assert max(cell.fraction or 0.0 for cell in shown.cells) <= 1.03
