# SPDX-License-Identifier: Apache-2.0
"""The paths of the answer: which figures represent them, and what is judged."""

from pathlib import Path

import msgspec

from nearpeak.report.lines import Line, by_share, judged_at, lines, poor, share, single
from nearpeak.report.path_table import path_table
from nearpeak.report.picture import measured
from nearpeak.results.build import from_json
from nearpeak.results.results import Results
from nearpeak.terms.ratings import FAIR

EXAMPLES = Path(__file__).parents[2] / "examples"


def recording(name: str) -> Results:
    return from_json((EXAMPLES / name / "results.json").read_bytes())


def _by_label(results: Results) -> dict[str, Line]:
    return {line.label: line for line in lines(results)}


def test_a_path_has_a_time_and_a_rate(plain: Results) -> None:
    line = _by_label(plain)["host-host same-numa"]
    assert line.time is not None
    assert line.rate is not None
    assert (line.time.case.figure, line.rate.case.figure) == ("latency", "bw")
    assert line.share == line.rate.fraction
    assert line.rating[0] == "good"


def test_only_a_measured_ceiling_gives_a_share(plain: Results) -> None:
    head = _by_label(plain)["host-host same-numa"].rate
    assert head is not None
    assert head.ceiling is not None
    assert share(head) == head.fraction
    bound = msgspec.structs.replace(head.ceiling, kind="bound")
    assert share(msgspec.structs.replace(head, ceiling=bound)) is None
    assert share(msgspec.structs.replace(head, best=None)) is None
    assert share(None) is None


def test_without_an_interval_there_is_no_rating(plain: Results) -> None:
    for head in plain.headlines:
        head.fraction_ci95 = None
    assert all(line.rating[0] in ("unconfirmed", "") for line in lines(plain))


def test_lines_without_a_share_come_last_and_are_not_poor(results: Results) -> None:
    shown = lines(results)
    assert any(line.share is None for line in shown)
    assert sorted(shown, key=by_share)[-1].share is None
    assert poor(shown) == []


def test_poor_figures_of_small_and_of_large_messages_are_sorted(plain: Results) -> None:
    line = next(line for line in lines(plain) if line.time and share(line.time) and line.rate)
    assert line.time is not None
    assert line.rate is not None
    line.time.fraction, line.rate.fraction = FAIR / 4, FAIR / 2
    assert poor([line]) == [line.time, line.rate]
    line.time.fraction = FAIR
    assert poor([line]) == [line.rate]


def test_of_all_pairs_the_slowest_is_named(gpu: Results) -> None:
    pairs = [line for line in lines(gpu) if line.group.place.pair]
    assert pairs
    assert path_table(pairs).caption.endswith(" Pairs: the slowest.")
    assert len({line.label for line in pairs}) == len(pairs)


def test_the_slowest_pair_is_that_of_the_diagram() -> None:
    results = recording("h100x4-pairs")
    shown = {line.group.place.path for line in lines(results)}
    assert shown == {row.path.id for row in measured(results) if row.path.pair}


def test_half_a_round_trip_is_of_both_ways() -> None:
    shown = _by_label(recording("h200"))
    there, back = shown["host-gpu near (to GPU)"], shown["host-gpu near (from GPU)"]
    assert there.time is not None
    assert back.time is there.time
    assert back.rate is not there.rate
    heads = poor([there, back])
    assert len(heads) == len({id(head) for head in heads})
    table = path_table([there, back])
    assert table.columns[0].title == "half round trip 8 B"
    assert len({row.values["time"].text for row in table.groups[0].rows}) == 1


def test_a_time_alone_is_of_the_round_trip() -> None:
    assert list(_by_label(recording("h200x2-host-gpu"))) == [
        "host-gpu near (round trip)",
        "host-gpu near same-gpu (round trip)",
    ]


def test_the_size_that_is_judged_is_named_if_it_is_one() -> None:
    assert judged_at(lines(recording("h200"))) == " at 16 MiB"
    assert judged_at(lines(recording("h200x2-host-gpu"))) == " at 8 B"
    assert judged_at([*lines(recording("h200")), *lines(recording("h200x2-host-gpu"))]) == ""


def test_a_large_message_that_is_faster_alone_is_explained() -> None:
    results = recording("h200x2-shipped")
    by_label = _by_label(results)
    text = (
        "latency: one message at a time, in the same buffer; bw: several in flight, each in its"
        " own."
    )
    near = by_label["host-gpu near (to GPU)"]
    assert single(results, near) == text
    assert single(results, near._replace(time=None)) == ""
    assert single(results, by_label["gpu-gpu nvlink"]) == ""
