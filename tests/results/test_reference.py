# SPDX-License-Identifier: Apache-2.0
from typing import Any

import pytest

MakeStudy = Any


def test_a_fraction_is_of_the_blocks_at_one_distance_of_the_cpus(make_study: MakeStudy) -> None:
    study = make_study()
    for block in range(12):
        study.ceiling(block, {("latency", "flags", 8): 0.1 if block % 2 else 0.3})
        study.launch(block, "alpha", "latency", {8: 0.2 if block % 4 < 2 else 0.6})
    measured = [record for record in study.records if hasattr(record, "cache_line_ns")]
    assert study.cell("latency", 8).fraction_range == pytest.approx((0.1 / 0.6, 0.3 / 0.2))
    for record in measured:
        record.cache_line_ns = [60.0 if record.samples[0] < 0.25 else 300.0]
    cell = study.cell("latency", 8)
    assert cell.fraction_range == pytest.approx((0.5, 0.5))
    assert (cell.fraction_blocks, cell.flags) == (6, ["imprecise", "bimodal", "fewer blocks"])
    for record in measured:
        record.cache_line_ns = [60.0 if record.method else 300.0]
    cell = study.cell("latency", 8)
    assert (cell.fraction, cell.no_fraction) == (None, "other distance")
