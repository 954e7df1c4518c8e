# SPDX-License-Identifier: Apache-2.0
"""The cards of what costs most, and their commands."""

from pathlib import Path

import msgspec

from nearpeak.libraries.library import Settings
from nearpeak.report.cards import card, cards
from nearpeak.report.lines import lines
from nearpeak.results.results import Finding, Headline, Results
from nearpeak.terms.identity import Who


def _rate(results: Results) -> Headline:
    return next(rate for line in lines(results) if (rate := line.rate or line.time))


def _costly(finding: Finding, **changes: object) -> Finding:
    return msgspec.structs.replace(finding, weighted_us=1.0, **changes)


def test_a_command_follows_the_words_that_say_what_it_does(
    plain: Results, finding: Finding
) -> None:
    shown = card(finding, plain)
    assert shown.command.startswith("nearpeak explain ")
    assert shown.action.endswith("See why:")
    remedy = msgspec.structs.replace(finding.remedy, tune="nearpeak tune --mpi mpich")
    shown = card(msgspec.structs.replace(finding, remedy=remedy), plain)
    assert shown.command == "nearpeak tune --mpi mpich"
    assert shown.action.endswith("Search for settings:")


def test_no_command_that_would_launch_something_else(plain: Results, finding: Finding) -> None:
    remedy = msgspec.structs.replace(finding.remedy, settings=Settings(name="fast"))
    assert finding.who is not None
    assert finding.place is not None
    tuned = Who(finding.who.library, "fast")
    afar = msgspec.structs.replace(finding.place, hosts=2)
    for changes in ({"remedy": remedy}, {"who": tuned}, {"place": afar}):
        shown = card(msgspec.structs.replace(finding, **changes), plain)
        assert shown.command == ""
        assert not shown.action.endswith(":")


def test_the_furthest_path_has_a_card(plain: Results, finding: Finding) -> None:
    poor = _rate(plain)
    assert finding.place is not None
    plain.findings = [
        _costly(finding, place=msgspec.structs.replace(finding.place, path=f"path {number}"))
        for number in range(4)
    ]
    shown = list(cards(plain, Path("DIR"), [poor]))
    assert len(shown) == 3
    assert "of the ceiling" in shown[-1].text
    plain.findings[0] = _costly(finding, place=poor.place, case=poor.case)
    assert not any("of the ceiling" in one.text for one in cards(plain, Path("DIR"), [poor]))
    other = msgspec.structs.replace(poor.case, buffers="D,H")
    plain.findings[0] = _costly(finding, place=poor.place, case=other)
    assert "of the ceiling" in list(cards(plain, Path("DIR"), [poor]))[-1].text


def test_the_furthest_path_has_a_card_without_findings(plain: Results) -> None:
    plain.findings, plain.advice = [], []
    shown = list(cards(plain, Path("DIR"), [_rate(plain)]))
    assert ["of the ceiling" in one.text for one in shown] == [True]


def _small(plain: Results) -> Headline:
    return next(line.time for line in lines(plain) if line.time and line.time.fraction)


def test_a_path_that_is_bad_for_small_messages_alone_has_a_card(
    plain: Results, finding: Finding
) -> None:
    small, large = _small(plain), _rate(plain)
    small.value, small.fraction = 152.0, 0.0185
    assert small.ceiling is not None
    small.ceiling.value = 2.81
    plain.findings = [_costly(finding, place=large.place, case=large.case)]
    shown = list(cards(plain, Path("DIR"), [small]))
    assert shown[1].text.endswith(" 4 B: 152 µs, 2.81 without MPI (54.1x)")
    assert shown[1].origin == "software or settings"
    assert shown[1].doubt == ""
    small.fraction_ci95 = None
    (_, unconfirmed) = cards(plain, Path("DIR"), [small])
    assert unconfirmed.labelled.startswith("Unconfirmed: ")


def test_further_poor_figures_have_cards_where_there_is_room(
    plain: Results, finding: Finding
) -> None:
    small, large = _small(plain), _rate(plain)
    assert finding.place is not None
    plain.findings, plain.advice = [], []
    assert len(list(cards(plain, Path("DIR"), [small, large]))) == 2
    plain.findings = [
        _costly(finding, place=msgspec.structs.replace(finding.place, path=f"path {number}"))
        for number in range(3)
    ]
    shown = [one.text for one in cards(plain, Path("DIR"), [small, large])]
    assert ["without MPI" in text for text in shown] == [False, False, True]


def test_a_card_says_where_the_loss_comes_from(plain: Results, finding: Finding) -> None:
    for kind, origin in (("calls", "software"), ("throttled", "hardware")):
        shown = card(msgspec.structs.replace(finding, kind=kind), plain)
        assert shown.origin == origin
        assert shown.remedy.startswith(f"{origin.capitalize()}: ")
