# SPDX-License-Identifier: Apache-2.0
"""What a library is tuned for."""

import math
import re

import pytest

from nearpeak.errors import UserError
from nearpeak.tune.targets import Target, by_benchmark, cost, parse_targets


def test_targets_are_benchmarks_at_sizes() -> None:
    found = parse_targets("latency:16M, bw:64K,latency:8,bw:64K")
    assert found == [Target("latency", 16 << 20), Target("bw", 64 << 10), Target("latency", 8)]
    assert [target.label for target in found] == ["latency:16M", "bw:64K", "latency:8"]
    assert by_benchmark(found) == {"latency": [8, 16 << 20], "bw": [64 << 10]}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("latency", "--for latency: write BENCHMARK:SIZE, like latency:8 or bw:16M"),
        (":8", "--for :8: write BENCHMARK:SIZE"),
        ("latency:x", "--for latency:x: 'x' is "),
        (" , ", "--for ' , ': write BENCHMARK:SIZE, like latency:8,bw:16M"),
    ],
)
def test_anything_else_is_refused(text: str, message: str) -> None:
    with pytest.raises(UserError, match=re.escape(message)):
        parse_targets(text)


def test_less_cost_is_better() -> None:
    assert cost(2.0, "lower") - cost(1.0, "lower") == pytest.approx(math.log(2))
    assert cost(1.0, "higher") - cost(2.0, "higher") == pytest.approx(math.log(2))
