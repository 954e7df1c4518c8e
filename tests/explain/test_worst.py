# Every figure in this file is written by hand, none was measured.
# SPDX-License-Identifier: Apache-2.0
"""Which messages of a study are looked at."""

from types import SimpleNamespace
from typing import Any

import msgspec

from nearpeak.explain.worst import worst


def test_of_each_library_path_and_buffers_the_furthest(by_hand: Any) -> None:
    def cell(benchmark: str, fraction: float | None, **given: Any) -> Any:
        return msgspec.structs.replace(
            by_hand.make_cell(benchmark, 1.0, **given), fraction=fraction
        )

    results: Any = SimpleNamespace(
        benchmarks=by_hand.BENCHMARKS,
        cells=[
            cell("latency", 0.5, x=8),
            cell("latency", 0.2, x=64),
            cell("latency", 0.1, x=64, buffers="H,D"),
            cell("latency", None, x=64, buffers="P,D"),
            cell("bw", 0.01, x=64),
        ],
    )
    found = [(cell.case.buffers, cell.fraction) for cell in worst(results, 3)]
    assert [fraction for _, fraction in found] == [0.1, 0.2]
    assert [cell.fraction for cell in worst(results, 1)] == [0.1]
