# Every figure in this file is written by hand, none was measured.
# SPDX-License-Identifier: Apache-2.0
"""What rules take from the bytes that links counted."""

from nearpeak.findings.counted import LEAST_BYTES, idle, shares
from nearpeak.terms.counters import Link, OnLink


def test_a_link_is_idle_where_more_links_carry_something() -> None:
    eight = {f"mlx5_{number}:1": 1 / 7 for number in range(7)}
    assert idle({**eight, "mlx5_7:1": 0.0}) == ["mlx5_7:1"]
    assert idle({**eight, "mlx5_7:1": 1e-5}) == ["mlx5_7:1"]
    assert idle({**eight, "mlx5_7:1": 0.05}) == []


def test_few_links_of_many_may_carry_everything_by_design() -> None:
    assert idle({"a": 0.5, "b": 0.5, "c": 0.0, "d": 0.0}) == []
    assert idle({"a": 1.0, "b": 0.0}) == []
    assert idle({}) == []


def test_few_bytes_tell_nothing() -> None:
    links = {Link("infiniband", "a", name): OnLink(1000, 0) for name in ("one", "other")}
    assert shares(links) == {}
    larger = {link: OnLink(LEAST_BYTES, LEAST_BYTES) for link in links}
    assert list(shares(larger).values()) == [0.5, 0.5]
