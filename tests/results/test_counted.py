# Every figure in this file is written by hand, none was measured.
# SPDX-License-Identifier: Apache-2.0
"""Bytes that links counted, from records to results, the CSV and the page's table."""

import csv
import io
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from nearpeak.launching.program_records import (
    CountedBytes,
    Counters,
    EnvironmentRecord,
    LinkBytes,
    LinkCounter,
    PayloadBytes,
    SamplesRecord,
    UnreadLinks,
)
from nearpeak.report.counted import sentences, table
from nearpeak.report.export import to_csv
from nearpeak.results.results import Cell, Results

SIZE = 1 << 20
PAYLOAD = 1 << 30
NVLINK, PCIE, ETH, BOND, LO = range(5)
COUNTERS = Counters(
    opening_us=1000.0,
    links=[
        LinkCounter(rank=0, kind="nvlink", name="GPU-0"),
        LinkCounter(rank=1, kind="pcie", name="GPU-1", wraps_at_bytes=1 << 32),
        LinkCounter(rank=0, kind="network", name="eth0"),
        LinkCounter(rank=0, kind="network", name="bond0"),
        LinkCounter(rank=0, kind="network", name="lo"),
    ],
    unread=[UnreadLinks(rank=1, kind="infiniband", why="no counters")],
)


def counted(*on: tuple[int, int, int], payload: int | None = PAYLOAD, **more: Any) -> CountedBytes:
    """Bytes that links sent and received."""
    moved = (
        None
        if payload is None
        else PayloadBytes(sent_bytes=[payload, 0], received_bytes=[0, payload])
    )
    links = [LinkBytes(link=link, sent_bytes=out, received_bytes=back) for link, out, back in on]
    return CountedBytes(
        **{"seconds": 0.5, "reading_us": 20.0, "payload": moved, "links": links, **more}
    )


def studied(make_study: Callable[..., Any], *launches: CountedBytes) -> Any:
    """A study of one case, with a launch for each."""
    study = make_study("alpha")
    for block in range(len(launches)):
        study.launch(block, "alpha", "bw", {SIZE: 10.0})
    waiting = list(launches)
    for record in study.records:
        if isinstance(record, EnvironmentRecord):
            record.counters = COUNTERS
            for rank in record.ranks:
                rank["host"] = "one"
        if isinstance(record, SamplesRecord):
            record.counted = waiting.pop(0)
    return study


def cell_of(results: Results) -> Cell:
    (cell,) = results.cells
    return cell


def test_times_of_the_payload_are_of_the_direction_with_more_bytes(make_study: Any) -> None:
    launch = counted((NVLINK, PAYLOAD, 1000), (PCIE, 10, PAYLOAD // 2))
    results = studied(make_study, launch, launch).results()
    seen = cell_of(results).counted
    assert seen is not None
    assert seen.payload_bytes == PAYLOAD
    assert seen.times == {"nvlink": 1.0, "pcie": 0.5, "network": 0.0, "loopback": 0.0}
    assert [(link.kind, link.name, link.host) for link in seen.links] == [
        ("nvlink", "GPU-0", "one"),
        ("pcie", "GPU-1", "one"),
    ]


def test_the_median_is_over_launches(make_study: Any) -> None:
    launches = [counted((LO, times * PAYLOAD, times * PAYLOAD)) for times in (1, 1, 3)]
    seen = cell_of(studied(make_study, *launches).results()).counted
    assert seen is not None
    assert seen.times["loopback"] == 1.0


def test_an_interface_that_counts_for_others_counts_once(make_study: Any) -> None:
    launch = counted((ETH, PAYLOAD // 2, 0), (BOND, PAYLOAD, 0))
    seen = cell_of(studied(make_study, launch).results()).counted
    assert seen is not None
    assert seen.times["network"] == 1.0


def test_without_payload_there_are_bytes_alone(make_study: Any) -> None:
    seen = cell_of(studied(make_study, counted((LO, 5, 5), payload=None)).results()).counted
    assert seen is not None
    assert (seen.payload_bytes, seen.times) == (None, {})
    assert seen.links[0].sent_bytes == 5


def test_a_link_that_is_lost_counts_nothing(make_study: Any) -> None:
    seen = cell_of(studied(make_study, counted(lost=[NVLINK])).results()).counted
    assert seen is not None
    assert "nvlink" not in seen.times


def test_what_may_have_wrapped_is_a_lower_bound_everywhere(make_study: Any) -> None:
    wrapped = LinkBytes(link=PCIE, sent_bytes=5, received_bytes=PAYLOAD, at_least=True)
    results = studied(make_study, counted(links=[wrapped]), counted()).results()
    seen = cell_of(results).counted
    assert seen is not None
    assert seen.at_least == ["pcie"]
    (group,) = table(results).groups
    assert group.rows[0].values["pcie"].text == "≥ 0.50"


def test_the_csv_has_the_times_of_each_kind(make_study: Any) -> None:
    results = studied(make_study, counted((NVLINK, PAYLOAD, 0))).results()
    (row,) = csv.DictReader(io.StringIO(to_csv(results)))
    assert row["counted_times"] == "nvlink=1.0;pcie=0.0;network=0.0;loopback=0.0"
    assert row["counted_payload_bytes"] == str(PAYLOAD)


def test_the_report_says_what_was_read_and_what_was_not(make_study: Any) -> None:
    results = studied(make_study, counted((NVLINK, PAYLOAD, 0))).results()
    first, second = sentences(results)
    assert "1 link of NVLink" in first
    assert "20.0 µs" in first
    assert second == "Not counted on one: InfiniBand or RoCE: no counters."
    row = table(results).groups[0].rows[0]
    assert row.head == "alpha, bw H,H"
    assert row.values["nvlink"].text == "1.00"


def test_a_study_without_counters_has_no_table(make_study: Any) -> None:
    study = make_study("alpha")
    study.launch(0, "alpha", "bw", {SIZE: 10.0})
    results = study.results()
    assert results.counting is None
    assert cell_of(results).counted is None
    assert table(results).groups == []
    assert sentences(results) == []


def test_a_kind_of_link_that_nobody_knows_is_no_record() -> None:
    text = msgspec.json.encode({"rank": 0, "kind": "carrier pigeon", "name": "a"})
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(text, type=LinkCounter)
