# Every figure in this file is written by hand, none was measured.
# SPDX-License-Identifier: Apache-2.0
"""One finding for each rule, library and path; the surely greatest ratio first."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import msgspec
import numpy as np
import pytest

from nearpeak.findings.evidence import View
from nearpeak.findings.find import changes, find_in
from nearpeak.findings.rules import all_rules
from nearpeak.libraries.library import Settings
from nearpeak.observations.observed import Block
from nearpeak.results.results import Estimated, Overlap
from nearpeak.terms.identity import Place, Who


def found(by_hand: Any, cells: list[Any]) -> list[Any]:
    view: View = by_hand.view(cells)
    return find_in(view)


def shared(by_hand: Any, without: float, under: float, **how: Any) -> list[Any]:
    return [
        by_hand.make_cell("latency", without, place=by_hand.SAME, **how),
        by_hand.make_cell("latency", under, place=by_hand.MPS, **how),
    ]


def test_a_finding_is_reported_where_most_time_is_lost(
    by_hand: Any,
) -> None:
    cells = [*shared(by_hand, 100.0, 10.0), *shared(by_hand, 300.0, 100.0, x=1 << 20)]
    (finding,) = found(by_hand, cells)
    cost = finding.cost
    assert (finding.kind, finding.case.x, cost.cases) == ("mps", 1 << 20, 2)
    assert cost.lost_us == pytest.approx(200.0)  # of one message of 1 MiB, and of no other size
    assert finding.sure
    assert cost.range[0] < cost.ratio < cost.range[1]
    assert cost.share == pytest.approx(1 - 1 / cost.ratio)


def rates(by_hand: Any, launches: int, medians: list[float] | None = None) -> list[Any]:
    cells = [
        by_hand.make_cell("bw", 10.0, noise=0.0, launches=launches),
        by_hand.make_cell("bw", 17.0, settings="tuned", launches=launches),
    ]
    if medians:
        cells[1].launch_medians[:] = medians
    return cells


def test_few_blocks_are_not_sure(by_hand: Any) -> None:
    (finding,) = found(by_hand, rates(by_hand, 5))
    assert (finding.sure, finding.cost.ci95, finding.cost.blocks) == (False, None, 5)
    (finding,) = found(by_hand, rates(by_hand, 6))
    assert finding.sure


def test_intervals_are_of_the_first_questions_in_the_blocks_that_did_not_choose_them(
    by_hand: Any,
) -> None:
    """Of each settings against the other: 6 blocks have no interval, 7 have that of the first."""
    assert found(by_hand, rates(by_hand, 6))[0].cost.ci95 is None
    (finding,) = found(by_hand, rates(by_hand, 7))
    assert finding.cost.ci95[0] < finding.cost.ratio < finding.cost.ci95[1]


def test_a_block_below_the_limit_leaves_doubt_where_blocks_are_few(by_hand: Any) -> None:
    assert not found(by_hand, rates(by_hand, 6, [17.0, 14.8, 17.0, 17.0, 17.0, 20.0]))
    (finding,) = found(by_hand, rates(by_hand, 14, [*[17.0] * 12, 14.8, 20.0]))
    assert finding.sure


def test_a_certain_loss_has_the_low_end_of_its_interval_above_the_limit(by_hand: Any) -> None:
    """All ratios together hold only in an interval that is wider than 95 % of one."""
    medians = [17.0] * 12 + [5.0, 20.0, 20.0, 20.0]
    (finding,) = found(by_hand, rates(by_hand, 16, medians))
    assert finding.sure
    assert finding.cost.ci95[0] > 1.5
    others = [
        msgspec.structs.replace(cell, place=Place(path=f"pair {number}", ends=by_hand.GPUS))
        for number in range(40)
        for cell in rates(by_hand, 16)
    ]
    told = {f.place.path: f for f in found(by_hand, [*rates(by_hand, 16, medians), *others])}
    assert told["pair 0"].sure
    assert by_hand.NVLINK.path not in told  # one block is below the limit, and nothing is certain


@pytest.mark.parametrize("modes", [0.0, 0.5, 0.3])
def test_false_findings_stay_rare(by_hand: Any, modes: float) -> None:
    """40 cells of libraries that are alike, at the limit itself."""
    generator = np.random.default_rng(4)
    false = 0
    for _ in range(100):
        cells = []
        for x in range(40):
            for settings, value in (("default", 10.0), ("tuned", 15.0)):
                cell = by_hand.make_cell("bw", value, x=1 + x, settings=settings)
                noise = generator.normal(0, 0.01, 6) + 0.2 * (generator.random(6) < modes)
                cell.launch_medians[:] = (value * np.exp(noise)).tolist()
                cells.append(cell)
        false += any(finding.sure for finding in found(by_hand, cells))
    assert false <= 11  # 5 are allowed, deviation 2.2


def test_a_rate_of_both_ways_loses_the_time_of_both_messages(by_hand: Any) -> None:
    cells = [
        by_hand.make_cell("bibw", 10.0, x=1000),
        by_hand.make_cell("bibw", 20.0, x=1000, settings="tuned"),
    ]
    (finding,) = found(by_hand, cells)
    assert finding.cost.lost_us == pytest.approx(2 * 1000 / 10e3 - 2 * 1000 / 20e3)


def test_a_cell_that_loses_to_two_others_counts_once(by_hand: Any) -> None:
    where = {"x": by_hand.MIB, "place": by_hand.NEAR, "buffers": "H,D"}
    cells = [
        by_hand.make_cell("latency", 1939.0, ceiling=26.0, calls="blocking", **where),
        by_hand.make_cell("bibw", 40.0, ceiling=55.0, calls="nonblocking", reuse="fixed", **where),
        by_hand.make_cell("bibw", 53.0, ceiling=55.0, calls="nonblocking", reuse="single", **where),
    ]
    (finding,) = found(by_hand, cells)
    assert finding.cost.cases == 1
    assert finding.cost.lost_us == pytest.approx(1939.0 - by_hand.MIB / 53e3)


def test_what_surely_loses_most_comes_first(by_hand: Any) -> None:
    """By the least that is sure: not by the medians."""
    cells = shared(by_hand, 60.0, 20.0)
    cells += [
        by_hand.make_cell("latency", 70.0, x=64, noise=0.4, calls="blocking"),
        by_hand.make_cell("latency", 20.0, x=64, calls="blocking", staging="pinned"),
    ]
    first, second = found(by_hand, cells)
    assert (first.kind, second.kind) == ("mps", "staged")
    assert first.cost.ratio < second.cost.ratio
    assert first.cost.lost_us < second.cost.lost_us
    assert first.cost.range[0] > second.cost.range[0]


def test_what_has_an_interval_comes_first_and_what_was_only_tried_last(by_hand: Any) -> None:
    tried = [
        by_hand.make_cell("latency", 1000.0, settings="ipc-off"),
        by_hand.make_cell("latency", 10.0),
    ]
    cells = [*tried, *shared(by_hand, 60.0, 20.0)]
    cells += [
        by_hand.make_cell("latency", 900.0, x=64, calls="blocking"),
        by_hand.make_cell("latency", 30.0, x=64, calls="blocking", staging="pinned"),
    ]
    assert [finding.kind for finding in found(by_hand, cells)] == ["staged", "mps", "settings"]


def test_what_the_ceilings_have_too_does_not_count_for_the_order(by_hand: Any) -> None:
    """294 us, of which the ceilings have 109, come after 200 us."""
    where = {"x": by_hand.MIB}
    cells = [
        by_hand.make_cell("latency", 315.0, ceiling=130.0, calls="blocking", **where),
        by_hand.make_cell("bw", 50.0, ceiling=50.0, calls="nonblocking", **where),
        *shared(by_hand, 210.0, 10.0),
    ]
    first, second = found(by_hand, cells)
    assert (first.kind, second.kind) == ("mps", "blocking")
    assert first.cost.lost_us < second.cost.lost_us
    assert second.cost.ceilings == pytest.approx(6.2, rel=0.02)
    assert second.weighted_us == pytest.approx(315 - 109 - 21, rel=0.1)


@pytest.mark.parametrize(
    ("own_us", "kinds"), [(60.0, ["dma_buf", "mps"]), (99, ["mps", "dma_buf"])]
)
def test_a_message_ranks_by_the_time_of_what_was_noticed(
    by_hand: Any, own_us: float, kinds: list[str]
) -> None:
    """70 of 100 us."""
    handle = by_hand.part("call", "cuMemGetHandleForAddressRange", 70.0)
    explanations = [by_hand.explained(handle)]
    cells = shared(by_hand, own_us, 5.0)
    found = find_in(by_hand.view(cells, explanations=explanations, **by_hand.EXPLAINED))
    assert [finding.kind for finding in found] == kinds


def test_what_is_seldom_comes_after_what_is_common(by_hand: Any) -> None:
    cells = [
        by_hand.make_cell("put_latency", 300.0, calls="blocking"),
        by_hand.make_cell("put_latency", 30.0, calls="blocking", staging="pinned"),
        *shared(by_hand, 60.0, 20.0),
    ]
    first, second = found(by_hand, cells)
    assert (first.kind, second.kind) == ("mps", "staged")
    assert first.cost.lost_us < second.cost.lost_us


def one_at_a_time(by_hand: Any, place: Place, us: float, gbs: float) -> list[Any]:
    where = {"x": by_hand.MIB, "place": place}
    return [
        by_hand.make_cell("latency", us, ceiling=26.0, calls="blocking", **where),
        by_hand.make_cell("bw", gbs, ceiling=55.0, calls="nonblocking", **where),
    ]


def test_what_a_cause_takes_away_is_told_with_it(by_hand: Any) -> None:
    cells = one_at_a_time(by_hand, by_hand.SAME, 1939.0, 53.0)
    (finding,) = found(by_hand, [*cells, *one_at_a_time(by_hand, by_hand.MPS, 30.0, 53.0)])
    assert (finding.kind, [each.kind for each in finding.explains]) == ("mps", ["blocking"])
    assert finding.explains[0].place == by_hand.SAME


@pytest.mark.parametrize("windowed", [True, False])
def test_what_stays_or_was_not_asked_without_the_cause_is_no_effect_of_it(
    by_hand: Any, windowed: bool
) -> None:
    cells = one_at_a_time(by_hand, by_hand.SAME, 1939.0, 53.0)
    under = one_at_a_time(by_hand, by_hand.MPS, 300.0, 53.0)
    told = found(by_hand, [*cells, *(under if windowed else under[:1])])
    assert "blocking" in {finding.kind for finding in told}
    assert not any(finding.explains for finding in told)


def test_of_all_pairs_only_the_worst_is_told(by_hand: Any) -> None:
    cells = []
    for number, value in enumerate((20.0, 40.0)):
        place = Place(path=f"pair {number}", ends=by_hand.GPUS, pair=("0", str(number)))
        cells += [
            by_hand.make_cell("bw", value, place=place),
            by_hand.make_cell("bw", 10.0, place=place, settings="tuned"),
        ]
    (finding,) = found(by_hand, cells)
    assert finding.place.path == "pair 1"


def test_axes_with_one_value_go_without_saying(by_hand: Any) -> None:
    (finding,) = found(by_hand, shared(by_hand, 60.0, 20.0, calls="blocking"))
    assert finding.apart == {}
    both = shared(by_hand, 60.0, 20.0, calls="blocking")
    both += shared(by_hand, 60.0, 20.0, calls="nonblocking")
    assert found(by_hand, both)[0].apart.keys() == {"calls"}


def test_cells_without_numbers_say_nothing(by_hand: Any) -> None:
    cells = shared(by_hand, 60.0, 20.0)
    cells[0].median = None
    assert not found(by_hand, cells)


def test_a_finding_is_what_results_json_holds(by_hand: Any) -> None:
    (finding,) = found(by_hand, shared(by_hand, 60.0, 20.0))
    assert msgspec.json.decode(msgspec.json.encode(finding))["who"] == {
        "library": "openmpi",
        "settings": "default",
    }


def test_every_finding_says_what_to_do(by_hand: Any) -> None:
    assert all(kind.remedy.endswith(".") for kind in all_rules())
    (finding,) = found(by_hand, shared(by_hand, 100.0, 10.0))
    assert finding.remedy.text.startswith("Start MPS where it is faster")
    assert finding.remedy.settings is None


def test_the_evidence_is_of_the_blocks_that_both_ran_in(by_hand: Any) -> None:
    """The worse one went on alone, on a machine that had become five times as fast."""
    own = by_hand.make_cell("latency", 10.0, noise=0.0)
    own.launch_medians += [2.0] * 8
    own.blocks += [Block(0, 6 + n) for n in range(8)]
    own.median = 2.0
    better = by_hand.make_cell("latency", 5.0, settings="tuned", ceiling=1.0)
    (finding,) = found(by_hand, [own, better])
    mine, other, ceiling = finding.evidence
    assert (mine.of, mine.value, mine.ci95, mine.range) == ("own", 10.0, (10.0, 10.0), (10.0, 10.0))
    assert (other.of, other.value) == ("alternative", pytest.approx(5.0))
    assert other.range[0] <= other.ci95[0] < 5.0 < other.ci95[1] <= other.range[1]
    assert (ceiling.of, ceiling.value, ceiling.window) == ("alternative ceiling", 1.0, None)
    assert finding.alternative.who.settings == "tuned"
    assert [step.command for step in finding.check] == ["by hand"] * 2


def test_a_time_beside_a_rate_is_told_as_a_rate_too(by_hand: Any) -> None:
    where = {"x": by_hand.MIB, "place": by_hand.NEAR, "buffers": "H,D"}
    cells = [
        by_hand.make_cell("latency", 1939.0, ceiling=26.0, calls="blocking", **where),
        by_hand.make_cell("bibw", 53.0, ceiling=55.0, calls="nonblocking", **where),
    ]
    (finding,) = found(by_hand, cells)
    time, _, rate, *_ = finding.evidence
    assert (time.of, time.unit, rate.of, rate.unit) == ("own", "us", "own", "GB/s")
    assert rate.value == pytest.approx(by_hand.MIB / time.value / 1e3)
    assert rate.range == pytest.approx([by_hand.MIB / us / 1e3 for us in reversed(time.range)])


def test_what_is_compared_by_its_bytes_says_so(by_hand: Any) -> None:
    cells = [
        by_hand.make_cell("allreduce", 2500.0, x=by_hand.MIB, type="float", noise=0.0),
        by_hand.make_cell("bcast", 100.0, x=by_hand.MIB, noise=0.0),
    ]
    cells[0].place = cells[1].place = Place(path="gpu x4", ends=("gpu",) * 4)
    (finding,) = found(by_hand, cells)
    (other,) = [part for part in finding.evidence if part.of == "alternative"]
    assert (other.scaled, other.value) == pytest.approx((1.5, 150.0))  # 2 (n - 1) / n


@pytest.mark.parametrize(
    ("kind", "own", "other"),
    [
        ("noncontiguous", ("vector", 90.0, {"pack": "direct"}), ("latency", 5.0, {})),
        ("reductions", ("allreduce", 2500.0, {"type": "float"}), ("bcast", 100.0, {})),
    ],
)
def test_what_does_less_shows_no_loss(by_hand: Any, kind: str, own: Any, other: Any) -> None:
    """It is told last, and takes nothing from what is sure."""
    cells = [
        by_hand.make_cell(name, us, x=by_hand.MIB, launches=9, **axes)
        for name, us, axes in (own, other)
    ]
    told = found(by_hand, [*cells, *shared(by_hand, 60.0, 20.0)])
    assert [(finding.kind, finding.sure) for finding in told] == [("mps", True), (kind, False)]
    fact = told[1]
    assert fact.cost is None
    assert fact.alternative.case.benchmark == other[0]
    assert {part.of: part.value for part in fact.evidence} == pytest.approx(
        {"own": own[1], "alternative": other[1]}, rel=0.03
    )


def test_both_at_once_are_no_loss_against_one_alone(by_hand: Any) -> None:
    cell = by_hand.make_cell("iallreduce", 1.9, ceiling=1.0)
    hidden = Estimated(value=0.1, ci95=None, range=(0.0, 0.2))
    cell.overlap = Overlap(hidden=hidden, communicate_us=90.0, compute_us=90.0, both_us=171.0)
    (fact,) = found(by_hand, [cell])
    assert (fact.kind, fact.sure, fact.cost) == ("overlap", False, None)


def given(env: dict[str, str], flags: Sequence[str] = ()) -> Settings:
    return Settings(env=env, flags=list(flags))


@pytest.mark.parametrize(
    ("better", "own", "found"),
    [
        (given({"A": "1"}), given({}), [("env", "A", "1", None)]),
        (given({}), given({"A": "1"}), [("env", "A", None, "1")]),
        (given({"A": "1"}), given({"A": "2"}), [("env", "A", "1", "2")]),
        (given({"A": "1"}), given({"A": "1"}), []),
        (given({}, ["--mca", "pml"]), given({}), [("flags", "", "--mca pml", None)]),
        (Settings(unset=["A", "B"]), given({}), [("unset", "", "A B", None)]),
    ],
)
def test_settings_that_are_a_remedy_say_what_they_change(
    better: Settings, own: Settings, found: Any
) -> None:
    told = [
        (change.kind, change.name, change.value, change.instead) for change in changes(better, own)
    ]
    assert told == found


def test_the_faster_settings_are_the_remedy(by_hand: Any) -> None:
    tuned = Settings(name="tuned", env={"B": "n"})
    view = by_hand.view(rates(by_hand, 7), {Who("openmpi", "tuned"): tuned})
    (finding,) = find_in(view)
    assert finding.remedy.settings == tuned
    assert [change.name for change in finding.remedy.changes] == ["B"]


def test_blocks_of_another_machine_say_nothing(by_hand: Any) -> None:
    """As in verdicts: of sessions on several machines the one with the most blocks counts."""
    cells = shared(by_hand, 100.0, 10.0, launches=8)
    for cell in cells:
        cell.blocks[6:] = [Block(1, 0), Block(1, 1)]
    results = SimpleNamespace(
        cells=cells,
        benchmarks=by_hand.BENCHMARKS,
        libraries=[],
        ceilings=[],
        sessions=[
            SimpleNamespace(session=number, verdicts=counts)
            for number, counts in enumerate((True, False))
        ],
    )
    (finding,) = find_in(View.from_results(results, by_hand.view([]).observations))
    assert (finding.cost.blocks, finding.sure) == (6, True)
