# SPDX-License-Identifier: Apache-2.0
"""Several command lines in one launch, parted by a +."""

from typing import Any

import pytest

WHERE = ("--slot-ms", "0.1")


def of(records: list[dict[str, Any]]) -> list[tuple[str, str, str, int]]:
    return [
        (record["benchmark"], record["buffers"], record["axes"]["touch"], record["size_bytes"])
        for record in records
    ]


def test_each_part_has_options_of_its_own_and_says_where_it_ran(launcher: Any) -> None:
    done = launcher.run(
        *("latency", "bw", "--sizes", "8,64", *WHERE, "+"),
        *("latency", "--touch", "sender", "--sizes", "1K", *WHERE, "+"),
        *("put_latency", "allreduce", "--sizes", "8", *WHERE),
    )
    assert done.measured() == {"latency", "bw", "put_latency", "allreduce"}
    assert [record["record"] for record in done.records].count("environment") == 3
    assert of(done.of("samples")) == [
        ("latency", "H", "none", 8),
        ("latency", "H", "none", 64),
        ("bw", "H", "none", 8),
        ("bw", "H", "none", 64),
        ("latency", "H", "sender", 1024),
        ("put_latency", "H", "none", 8),
        ("allreduce", "H", "none", 8),
    ]


def test_ranks_can_change_places_between_parts(launcher: Any) -> None:
    shared = ("--sizes", "8,4K", *WHERE, "--devices", "0")
    done = launcher.run(
        *("bw", "--buffers", "H,P", *shared, "+"),
        *("bw", "--buffers", "P,H", "--reversed", *shared),
    )
    assert done.measured() == {"bw"}
    assert [record["buffers"] for record in done.of("samples")] == ["H,P", "H,P", "P,H", "P,H"]
    there, back = (
        [(rank["rank"], rank["cpus"]) for rank in environment["ranks"]]
        for environment in done.of("environment")
    )
    assert [rank for rank, _ in there] == [rank for rank, _ in back] == [0, 1]
    assert [cpus for _, cpus in there] == [cpus for _, cpus in reversed(back)]


@pytest.mark.parametrize(
    "words",
    [
        ("latency", "+", "latency", "--jsonl", "x"),
        ("latency", "--devices", "0", "+", "latency", "--devices", "1"),
        ("latency", "+", "latency_mt"),
        ("latency", "+", "probe", "--buffers", "H"),
        ("latency", "+"),
    ],
)
def test_parts_that_cannot_share_a_launch_are_bad_input(
    launcher: Any, words: tuple[str, ...]
) -> None:
    told = launcher.ask("--check", *words)
    assert told.returncode == 2
    assert len(told.stderr.splitlines()) == 1
