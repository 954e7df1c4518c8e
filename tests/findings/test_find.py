# Every figure in this file is written by hand, none was measured.
# SPDX-License-Identifier: Apache-2.0
"""One finding for each kind, library and path; the surely greatest ratio first."""

from types import SimpleNamespace
from typing import Any

import msgspec
import numpy as np
import pytest

from nearpeak.findings.evidence import View
from nearpeak.findings.find import find_in
from nearpeak.findings.kinds import all_kinds
from nearpeak.observations.observed import Block
from nearpeak.terms.identity import Place


def found(by_hand: Any, cells: list[Any]) -> list[Any]:
    view: View = by_hand.view(cells)
    return find_in(view)


def shared(by_hand: Any, without: float, under: float, **how: Any) -> list[Any]:
    return [
        by_hand.make_cell("latency", without, place=by_hand.SAME, **how),
        by_hand.make_cell("latency", under, place=by_hand.MPS, **how),
    ]


def test_it_is_told_where_the_ratio_is_greatest_and_counts_all_that_lose(by_hand: Any) -> None:
    cells = [*shared(by_hand, 100.0, 10.0), *shared(by_hand, 300.0, 100.0, x=1 << 20)]
    (finding,) = found(by_hand, cells)
    assert (finding.kind, finding.case.x, finding.cases) == ("mps", 8, 2)
    assert finding.lost_us == pytest.approx(90.0)  # of one message of 8 B, and of no other size
    assert finding.sure
    assert finding.range[0] < finding.loss < finding.range[1]


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
    assert (finding.sure, finding.ci95, finding.blocks) == (False, None, 5)
    (finding,) = found(by_hand, rates(by_hand, 6))
    assert finding.sure


def test_the_interval_is_of_all_that_was_asked(by_hand: Any) -> None:
    """Two questions here, of each settings against the other: 6 blocks have no interval of 97.5 %,
    7 have."""
    assert found(by_hand, rates(by_hand, 6))[0].ci95 is None
    (finding,) = found(by_hand, rates(by_hand, 7))
    assert finding.range is None
    assert finding.ci95[0] < finding.loss < finding.ci95[1]


def test_a_block_below_the_limit_leaves_doubt_where_blocks_are_few(by_hand: Any) -> None:
    assert not found(by_hand, rates(by_hand, 6, [17.0, 14.8, 17.0, 17.0, 17.0, 20.0]))
    (finding,) = found(by_hand, rates(by_hand, 14, [*[17.0] * 12, 14.8, 20.0]))
    assert finding.sure


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
    assert finding.lost_us == pytest.approx(2 * 1000 / 10e3 - 2 * 1000 / 20e3)


def test_a_cell_that_loses_to_two_others_counts_once(by_hand: Any) -> None:
    where = {"x": by_hand.MIB, "place": by_hand.NEAR, "buffers": "H,D"}
    cells = [
        by_hand.make_cell("latency", 1939.0, ceiling=26.0, calls="blocking", **where),
        by_hand.make_cell("bw", 40.0, ceiling=55.0, calls="nonblocking", reuse="fixed", **where),
        by_hand.make_cell("bw", 53.0, ceiling=55.0, calls="nonblocking", reuse="single", **where),
    ]
    (finding,) = found(by_hand, cells)
    assert finding.cases == 1
    assert finding.lost_us == pytest.approx(1939.0 - by_hand.MIB / 53e3)


def test_what_surely_loses_most_comes_first(by_hand: Any) -> None:
    """By the least that is sure: not by the ratio, nor by the time."""
    cells = shared(by_hand, 60.0, 20.0)
    cells += [
        by_hand.make_cell("latency", 70.0, x=64, noise=0.4, calls="blocking"),
        by_hand.make_cell("latency", 20.0, x=64, calls="blocking", staging="pinned"),
    ]
    first, second = found(by_hand, cells)
    assert (first.kind, second.kind) == ("mps", "staged")
    assert first.loss < second.loss
    assert first.lost_us < second.lost_us
    assert first.range[0] > second.range[0]


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
    assert [one.kind for one in found(by_hand, cells)] == ["staged", "mps", "settings"]


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
    assert "latency D,D at 8 B:" in finding.sentence
    both = shared(by_hand, 60.0, 20.0, calls="blocking")
    both += shared(by_hand, 60.0, 20.0, calls="nonblocking")
    assert "latency D,D at 8 B (calls=" in found(by_hand, both)[0].sentence


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
    assert all(kind.remedy.endswith(".") for kind in all_kinds())
    (finding,) = found(by_hand, shared(by_hand, 100.0, 10.0))
    assert finding.remedy == "Let ranks share a GPU in the faster of these two ways."


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
    (finding,) = find_in(View.of(results))
    assert (finding.blocks, finding.sure) == (6, True)
