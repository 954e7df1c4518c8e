# Every figure in this file is written by hand, none was measured.
# SPDX-License-Identifier: Apache-2.0
"""What stands out, said in sentences."""

from typing import Any, get_args

import msgspec
import pytest

from nearpeak.findings.find import find_in
from nearpeak.findings.rules import all_rules
from nearpeak.libraries.library import Settings
from nearpeak.report.findings import WORDS, lost, sentence
from nearpeak.results.results import Finding, FindingKind
from nearpeak.terms.identity import Who


def told(by_hand: Any, kind: str, cells: list[Any], given: Any = None) -> str:
    found = find_in(by_hand.view(cells, given))
    (known,) = [finding for finding in found if finding.kind == kind]
    return sentence(known)


def test_every_rule_has_its_words() -> None:
    assert set(WORDS) == {rule.name for rule in all_rules()} == set(get_args(FindingKind))


def test_blocking_has_both_figures(by_hand: Any) -> None:
    where = {"x": by_hand.MIB, "place": by_hand.NEAR, "buffers": "H,D"}
    cells = [
        by_hand.make_cell("latency", 1939.0, ceiling=26.0, calls="blocking", **where),
        by_hand.make_cell("bw", 53.0, ceiling=55.0, calls="nonblocking", **where),
    ]
    words = told(by_hand, "blocking", cells)
    assert words.startswith(
        "openmpi, host-gpu near, latency H,D at 1 MiB: one message at a time moves 0.541 GB/s"
        " (1940 µs), 64 in flight move 53.0 GB/s: "
    )
    assert words.endswith(" as much. The ceilings differ by 1.36 times.")


def test_directions_have_both_ceilings(by_hand: Any) -> None:
    where = {"x": by_hand.MIB, "place": by_hand.NEAR}
    cells = [
        by_hand.make_cell("bw", 53.0, buffers="H,D", ceiling=55.0, **where),
        by_hand.make_cell("bw", 12.0, buffers="D,H", ceiling=50.0, **where),
    ]
    words = told(by_hand, "directions", cells)
    assert "12.0 GB/s against 53.0 GB/s the other way (H,D), 4." in words
    assert words.endswith("the ceilings are 50.0 and 55.0 GB/s.")


@pytest.mark.parametrize(
    ("kind", "own", "other", "words"),
    [
        ("guidelines", ("bcast", 750.0), ("allreduce", 50.0),
         "750 µs against 50.0 µs of allreduce, which does the same and more"),
        ("reductions", ("allreduce", 2500.0), ("bcast", 100.0),
         "2500 µs against 100 µs in which bcast moves the same number of bytes, 25.0"),
    ],
)  # fmt: skip
def test_other_operations(by_hand: Any, kind: str, own: Any, other: Any, words: str) -> None:
    axes = {"bcast": {}, "allreduce": {"type": "float"}}
    cells = [by_hand.make_cell(*part, x=by_hand.MIB, **axes[part[0]]) for part in (own, other)]
    assert words in told(by_hand, kind, cells)


def test_larger(by_hand: Any) -> None:
    cells = [by_hand.make_cell("latency", us, x=x) for x, us in ((8, 148.0), (8192, 82.0))]
    words = told(by_hand, "larger", cells)
    assert words.startswith(
        "openmpi, gpu-gpu nvlink, latency D,D at 8 B: 148 µs against 82.0 µs at 8 KiB, 1.8"
    )


@pytest.mark.parametrize(
    ("without", "under", "words"),
    [
        (255.0, 20.0, "20.0 µs under MPS against 255 µs without, "),
        (10.0, 20.0, "10.0 µs without MPS against 20.0 µs under it, "),
    ],
)
def test_mps(by_hand: Any, without: float, under: float, words: str) -> None:
    cells = [
        by_hand.make_cell("latency", without, place=by_hand.SAME),
        by_hand.make_cell("latency", under, place=by_hand.MPS),
    ]
    start = "openmpi, gpu-gpu same-gpu, latency D,D at 8 B: "
    assert told(by_hand, "mps", cells).startswith(start + words)


@pytest.mark.parametrize(
    ("better", "own", "words"),
    [
        (Settings(env={"A": "n", "B": "n"}), Settings(env={"A": "n"}), "B=n"),
        (Settings(), Settings(env={"A": "1"}), "no A=1"),
        (Settings(env={"A": "1"}), Settings(env={"A": "2"}), "A=1 in place of 2"),
        (Settings(), Settings(), "none that the plan knows"),
        (Settings(flags=["--mca", "pml"]), Settings(), "flags --mca pml in place of none"),
    ],
)
def test_settings_name_the_difference(
    by_hand: Any, better: Settings, own: Settings, words: str
) -> None:
    cells = [
        by_hand.make_cell("latency", 105.0, noise=0.0),
        by_hand.make_cell("latency", 19.0, settings="tuned", noise=0.0),
    ]
    given = {Who("openmpi"): own, Who("openmpi", "tuned"): better}
    assert told(by_hand, "settings", cells, given) == (
        "openmpi, gpu-gpu nvlink, latency D,D at 8 B: 19.0 µs with the settings tuned against"
        f" 105 µs with default, 5.53 times (5.53 to 5.53 in 6 blocks); the difference: {words}."
    )


def test_axes_that_tell_a_case_apart_are_named(by_hand: Any) -> None:
    cells = [
        by_hand.make_cell("latency", us, place=place, calls=calls)
        for us, place in ((60.0, by_hand.SAME), (20.0, by_hand.MPS))
        for calls in ("blocking", "nonblocking")
    ]
    assert "latency D,D at 8 B (calls=" in told(by_hand, "mps", cells)


def test_staged(by_hand: Any) -> None:
    cells = [
        by_hand.make_cell("bw", 0.5, x=by_hand.MIB, library="mpich"),
        by_hand.make_cell("bw", 6.0, x=by_hand.MIB, staging="pinned"),
    ]
    assert (
        "0.500 GB/s by the library's own way against 6.00 GB/s with openmpi staged by the"
        " benchmark (pinned), " in told(by_hand, "staged", cells)
    )


def test_the_time_lost_is_that_of_one_operation(finding: Finding) -> None:
    def of(lost_us: float, cases: int) -> str:
        cost = msgspec.structs.replace(finding.cost, lost_us=lost_us, cases=cases)
        return lost(msgspec.structs.replace(finding, cost=cost))

    more = "4 more cases lose in the same way, by smaller factors."
    assert of(12.34, 5) == f"Each such operation loses 12.3 µs. {more}"
    assert of(0.0, 5) == more
    assert of(0.0, 2) == "1 more case loses in the same way, by smaller factors."
    assert of(0.0, 1) == ""
