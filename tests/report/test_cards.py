# SPDX-License-Identifier: Apache-2.0
"""The cards of what costs most, and their commands."""

from pathlib import Path

import msgspec
import pytest

from nearpeak.document.model import Finding as Card
from nearpeak.libraries.library import Settings
from nearpeak.report.cards import card, cards
from nearpeak.report.lines import lines, poor
from nearpeak.report.reached import furthest
from nearpeak.results.build import from_json
from nearpeak.results.results import Fact, Finding, Headline, Results
from nearpeak.terms.identity import Who

EXAMPLES = Path(__file__).parents[2] / "examples"


def read(name: str) -> Results:
    return from_json((EXAMPLES / name / "results.json").read_bytes())


def shown_of(results: Results) -> list[Card]:
    return list(cards(results, Path("DIR"), poor(lines(results))).findings)


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


def test_what_no_other_command_is_for_is_measured_again_from_the_page() -> None:
    first, *_ = shown_of(read("h200x4-collectives"))  # of four ranks
    assert first.command == ""
    assert first.further is not None
    assert first.further.medium == "page"
    assert first.further.text == (
        "nearpeak run allgather --mpi intel --path 'gpu x4' --buffers D,D --sizes 16M"
    )


def test_the_furthest_path_has_a_card(plain: Results, finding: Finding) -> None:
    poor = _rate(plain)
    assert finding.place is not None
    plain.findings = [
        _costly(finding, place=msgspec.structs.replace(finding.place, path=f"path {number}"))
        for number in range(4)
    ]
    shown = cards(plain, Path("DIR"), [poor]).findings
    assert len(shown) == 3
    assert "of the ceiling" in shown[-1].text
    plain.findings[0] = _costly(finding, place=poor.place, case=poor.case)
    assert not any(
        "of the ceiling" in one.text for one in cards(plain, Path("DIR"), [poor]).findings
    )
    other = msgspec.structs.replace(poor.case, buffers="D,H")
    plain.findings[0] = _costly(finding, place=poor.place, case=other)
    assert "of the ceiling" in cards(plain, Path("DIR"), [poor]).findings[-1].text


def test_the_furthest_path_has_a_card_without_findings(plain: Results) -> None:
    plain.findings, plain.advice = [], []
    shown = cards(plain, Path("DIR"), [_rate(plain)]).findings
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
    shown = cards(plain, Path("DIR"), [small]).findings
    assert " 4 B: 152 µs by " in shown[1].text
    assert shown[1].text.endswith(" at best, 2.81 without MPI (54.1x)")
    assert shown[1].origin == "software or settings"
    assert shown[1].doubt == ""
    small.fraction_ci95 = None
    (_, unconfirmed) = cards(plain, Path("DIR"), [small]).findings
    assert unconfirmed.labelled.startswith("Unconfirmed (")


def test_further_poor_figures_have_cards_where_there_is_room(
    plain: Results, finding: Finding
) -> None:
    small, large = _small(plain), _rate(plain)
    assert finding.place is not None
    plain.findings, plain.advice = [], []
    assert len(cards(plain, Path("DIR"), [small, large]).findings) == 2
    plain.findings = [
        _costly(finding, place=msgspec.structs.replace(finding.place, path=f"path {number}"))
        for number in range(3)
    ]
    shown = [one.text for one in cards(plain, Path("DIR"), [small, large]).findings]
    assert ["without MPI" in text for text in shown] == [False, False, True]


def test_a_card_says_where_the_loss_comes_from(plain: Results, finding: Finding) -> None:
    for kind, origin in (("calls", "software"), ("throttled", "hardware")):
        shown = card(msgspec.structs.replace(finding, kind=kind), plain)
        assert shown.origin == origin
        assert shown.remedy.startswith(f"{origin.capitalize()}: ")


def test_a_better_library_is_what_to_do_and_why_the_other_is_worse_a_further_command() -> None:
    (first, *_) = shown_of(read("h200"))
    assert first.remedy == (
        "Software: use intel: 7.57 GB/s (8.05x; crashed at the end of 2 of 9 launches)."
    )
    assert first.command == ""
    assert first.further is not None
    assert first.further.text.startswith("nearpeak explain bw --mpi openmpi-cuda ")
    assert first.with_further.command == first.further.text
    assert first.with_further.remedy.endswith(" See why:")


def test_a_better_placement_is_what_to_do() -> None:
    shared = next(one for one in shown_of(read("h200x4")) if "latency D,D 8 B" in one.text)
    assert shared.remedy == "Placement: use MPS: 14.2 µs (10.7x, unconfirmed)."
    assert shared.command == ""
    assert shared.further is not None
    assert shared.further.text.startswith("nearpeak explain latency ")


def _unconfirmed(name: str, path: str) -> Results:
    """A recording in which launches on one path were too few for an interval."""
    results = read(name)
    for head in results.headlines:
        if head.place.path == path:
            head.fraction_ci95 = None
    return results


def test_an_unconfirmed_figure_displaces_no_confirmed_finding() -> None:
    (*_, displaces) = shown_of(read("h200x2-shipped"))
    assert displaces.text.startswith("all 3 libraries, host-host same-numa: ")
    (*_, last) = shown_of(_unconfirmed("h200x2-shipped", "host-host same-numa"))
    assert last.doubt == ""
    assert last.text.startswith("openmpi-cuda, gpu-gpu same-gpu: ")


def test_a_figure_as_good_as_a_library_can_attain_is_not_called_bad() -> None:
    shown = shown_of(read("h200-layer"))
    good = [one for one in shown if " by openmpi+layer* at best, " in one.text]
    assert [one.remedy for one in good] == [
        "Nothing to do: only a kernel that stays on the GPU (resident) reaches 2.74 µs. Other"
        " methods without MPI reach 10.9; openmpi+layer is faster."
    ]
    (near,) = [one for one in shown_of(read("h200x2-host-gpu")) if "Nothing" in one.remedy]
    assert near.remedy.endswith(" methods without MPI reach 7.84, openmpi-cuda 81.8 % of that.")
    assert [one.command for one in good] == [""]
    assert not any("sustains more" in one.remedy for one in shown_of(read("h200")))


@pytest.mark.parametrize(
    ("recording", "subject", "reason"),
    [
        ("h200x4", "bw to GPU", "noise"),
        ("h200x2-families", "scatter D,D", "under 6 launches"),
        ("h200", "latency D,D", "under 6 launches"),
    ],
)
def test_the_reason_for_doubt_is_printed(recording: str, subject: str, reason: str) -> None:
    doubtful = next(one for one in shown_of(read(recording)) if subject in one.text)
    assert doubtful.labelled.startswith(f"Unconfirmed ({reason}): ")


def test_launches_like_those_of_the_ceiling_are_counted() -> None:
    shared = next(
        head
        for head in read("h200x2-host-gpu").headlines
        if head.place.path == "host-gpu near same-gpu" and head.case.benchmark == "latency"
    )
    results = read("h200x2-host-gpu")
    for cell in results.cells:
        cell.fraction_attainable = None
    shown = next(
        one
        for one in cards(results, Path("DIR"), [shared]).findings
        if one.text.startswith("host-gpu near same-gpu: latency 8 B: ")
    )
    assert shown.reason == "under 6 launches"
    assert shown.doubt == "Only 5 launches had its CPUs as far apart as its ceiling."


def test_settings_are_named_with_what_they_cost() -> None:
    (first, *_) = shown_of(read("h200x2-shipped-tuned"))
    assert first.remedy == (
        "Settings: set UCX_CUDA_COPY_BW and 8 more variables."
        " But bw to GPU 16 KiB is then 2.29x slower."
    )
    assert any("UCX_RNDV_THRESH=intra:11585,inter:auto" in text for text in first.evidence)
    assert first.with_further.remedy.endswith(" slower. Measure it again:")


def test_pieces_have_their_size_and_the_message_its_time() -> None:
    (first, *_) = shown_of(read("h200x2-shipped"))
    assert first.text == (
        "openmpi-cuda, host-gpu near: latency 16 MiB: 9940 µs (confirmed): 2,037 pieces of 8,236 B"
    )
    assert first.remedy == ("Software: use mpich+layer: 1090 µs (9.08x). Cause seen in 1 message.")
    assert first.doubt == ""
    assert any(text.startswith("The cause is unconfirmed: 1 message ") for text in first.evidence)
    assert first.with_further.remedy.endswith(" Or search for settings:")
    assert first.with_further.command.startswith("nearpeak tune --mpi openmpi-cuda ")


def test_the_time_of_a_traced_message_is_unconfirmed_if_its_launches_are_few() -> None:
    results = read("h200x2-shipped")
    finding = next(one for one in results.findings if one.kind == "pieces")
    for cell in results.cells:
        if (cell.who, cell.place, cell.case) == (finding.who, finding.place, finding.case):
            cell.ci95, cell.launches = None, 4
    shown = card(finding, results)
    assert shown.labelled.startswith("Unconfirmed (under 6 launches): openmpi-cuda, ")
    assert "Cause" not in shown.remedy


def test_a_second_library_with_the_same_loss_is_named() -> None:
    (*_, last) = shown_of(_unconfirmed("h200x2-shipped", "host-host same-numa"))
    assert last.remedy == "Software: use mpich+layer: 22.4 µs (7.24x). intel has the same loss."
    (first, *_) = shown_of(read("h200"))
    assert "The same with" not in first.remedy  # the other one is the library that is advised


def test_a_dip_says_what_its_neighbour_has() -> None:
    dip = next(one for one in shown_of(read("h100x4-pairs")) if "4 KiB" in one.text)
    assert dip.text.endswith(
        "bw to GPU 4 KiB: 0.0921 GB/s, 1.47 without MPI (16.0x); at 256 B 4.51x"
    )


def test_cards_have_their_order_above_them(plain: Results) -> None:
    def title(results: Results) -> str:
        return cards(results, Path("DIR"), poor(lines(results))).title

    after = "Costliest first, then furthest from a ceiling:"
    assert title(read("h200x4")) == after
    assert title(read("h200x2-shipped")) == after
    assert title(_unconfirmed("h200x2-shipped", "host-host same-numa")) == "Costliest first:"
    plain.findings, plain.advice = [], []
    assert title(plain) == ""
    head = _rate(plain)
    head.fraction = 0.2
    assert title(plain) == "Furthest from a ceiling:"


def test_the_operation_furthest_from_its_bound_has_a_card() -> None:
    results = read("h200x2-families")
    (*_, last) = cards(results, Path("DIR"), worst=furthest(results)).findings
    assert last.text == (
        "mpich+layer, gpu-gpu nvlink: hindexed D,D 1 MiB: 63400 µs; bound: 9.02 µs (0.0141 %)"
    )
    assert last.remedy == "Software: gather the data in the application, if this is faster:"
    assert last.command.startswith("nearpeak run hindexed --mpi mpich+layer --path ")
    assert last.command.endswith(" --sizes 1M --pack kernel")
    assert furthest(read("h200x2-halo")) is None
    results = read("h200x4-collectives")
    block = cards(results, Path("DIR"), worst=furthest(results))
    assert block.title.endswith(", then furthest from a bound:")
    assert block.findings[-1].labelled.startswith("Unconfirmed (under 6 launches): openmpi+layer, ")
    assert block.findings[-1].doubt.endswith(" launches are too few for an interval.")
    assert block.findings[-1].action == "Even the best operation may be far from a bound."


@pytest.mark.parametrize("sure", [True, False])
def test_what_counters_prove_has_a_card_though_nobody_knows_its_cost(
    plain: Results, finding: Finding, sure: bool
) -> None:
    fact = Fact(of="counted", name="loopback", value="1.00 times the payload")
    plain.findings = [
        msgspec.structs.replace(
            finding, kind="wrong_path", sure=sure, facts=[fact], weighted_us=0.0, cost=None
        )
    ]
    texts = [one.text for one in shown_of(plain)]
    assert any("loopback 1.00 times the payload" in text for text in texts) == sure
