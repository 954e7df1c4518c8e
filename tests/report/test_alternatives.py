# SPDX-License-Identifier: Apache-2.0
"""Alternatives that a study measured: another library, another placement of ranks."""

from pathlib import Path

import msgspec
import pytest

from nearpeak.report.alternatives import better_library, better_path
from nearpeak.report.cards import card
from nearpeak.report.findings import headline
from nearpeak.results.build import from_json
from nearpeak.results.results import Comparison, Finding, Headline, Results
from nearpeak.statistics.verdicts import Word
from nearpeak.terms.identity import Who

EXAMPLES = Path(__file__).parents[2] / "examples"
OTHER, THIRD = Who("other"), Who("third")


def compared(finding: Finding, second: Who, verdict: Word, ratio: float) -> Comparison:
    assert finding.who is not None
    assert finding.place is not None
    assert finding.case is not None
    return Comparison(
        first=finding.who,
        second=second,
        place=finding.place,
        case=finding.case,
        ratio=ratio,
        ci95=None,
        blocks=9,
        p_value=0.001,
        p_adjusted=0.01,
        verdict=verdict,
    )


def test_the_best_library_that_is_significantly_better_is_named(
    plain: Results, finding: Finding
) -> None:
    first = compared(finding, OTHER, "faster", 2.0)
    undecided = compared(finding, Who("fast"), "undecided", 9.0)
    turned = msgspec.structs.replace(
        first, first=THIRD, second=first.first, verdict="slower", ratio=0.25
    )
    plain.comparisons = [first, undecided]
    assert better_library(plain, finding, "") == "Use other here (2.00x)."
    plain.comparisons = [first, undecided, turned]
    assert better_library(plain, finding, "") == "Use third here (4.00x)."
    assert "Use third" not in card(finding, plain).action  # the placement is the reason
    of_software = msgspec.structs.replace(finding, kind="calls")
    assert card(of_software, plain).action == "Use third here (4.00x)."


@pytest.mark.parametrize("verdict", ["slower", "equivalent", "two modes"])
def test_a_library_that_is_not_better_is_not_named(
    plain: Results, finding: Finding, verdict: Word
) -> None:
    plain.comparisons = [compared(finding, OTHER, verdict, 2.0)]
    assert better_library(plain, finding, "") == ""
    elsewhere = msgspec.structs.replace(finding, place=None)
    plain.comparisons = [compared(finding, OTHER, "faster", 2.0)]
    assert better_library(plain, elsewhere, "") == ""


def read(name: str) -> tuple[Results, Finding]:
    """A recording, and its first finding of one direction slower than the other."""
    results = from_json((EXAMPLES / name / "results.json").read_bytes())
    return results, next(one for one in results.findings if one.kind == "directions")


def test_failures_of_the_better_library_stand_beside_it() -> None:
    results, slow = read("h200")
    assert better_library(results, slow, headline(slow)) == (
        "Use intel: 7.57 GB/s (8.05x; crashed at the end of 2 of 9 launches)."
    )


def test_a_figure_that_the_finding_does_not_have_stands_beside_the_better_one() -> None:
    results, slow = read("h200")
    text = better_library(results, slow, "overlaps little")
    assert text.startswith("Use intel: 7.57 instead of 0.941 GB/s (8.05x; ")


def test_a_library_that_lost_half_of_its_launches_is_not_named() -> None:
    results, slow = read("h200")
    (lost,) = (kind for kind in results.failure_kinds if kind.who.library == "intel")
    lost.launches = [1, 2, 3, 4, 5]
    assert lost.of == 9
    assert "Use intel" not in better_library(results, slow, "")


def variant(head: Headline, *, mps: bool, value: float) -> Headline:
    place = msgspec.structs.replace(head.place, path="variant", variant_of=head.place.path, mps=mps)
    return msgspec.structs.replace(head, place=place, value=value, fraction_ci95=None)


def test_another_placement_that_is_better_is_named(plain: Results) -> None:
    head = next(head for head in plain.headlines if head.better == "lower" and head.value)
    head.value = 100.0
    plain.headlines = [head, variant(head, mps=True, value=10.0)]
    assert better_path(plain, head) == "Use MPS: 10.0 µs (10.0x, unconfirmed)."
    plain.headlines = [head, variant(head, mps=False, value=10.0)]
    assert better_path(plain, head).startswith("Place ranks as on variant: 10.0 µs (10.0x")
    plain.headlines = [head, variant(head, mps=True, value=90.0)]
    assert better_path(plain, head) == ""
