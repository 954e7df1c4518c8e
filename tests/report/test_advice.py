# SPDX-License-Identifier: Apache-2.0
"""The first sentences of a report."""

from collections.abc import Callable
from statistics import median

import msgspec
import numpy as np
import pytest

from nearpeak.observations.observed import Block
from nearpeak.report import wording
from nearpeak.report.advice import advice
from nearpeak.report.findings import sentence
from nearpeak.report.headlines import groups
from nearpeak.report.notices import notices
from nearpeak.report.picture import measured
from nearpeak.results.names import case
from nearpeak.results.order import is_left_out
from nearpeak.results.results import Conditions, Drift, Finding, InMessage, Results
from nearpeak.results.theoretical import compare
from nearpeak.terms.identity import Who
from nearpeak.terms.left_out import LeftOut

Advised = Callable[[Results], list[str]]


@pytest.fixture
def advised(tell: Callable[[Results], None]) -> Callable[[Results], list[str]]:
    """Of a machine whose links nobody knows the rates of."""

    def of(results: Results) -> list[str]:
        paths = [msgspec.structs.replace(path, theoretical_gbs=None) for path in results.paths]
        results.paths = paths
        compare(results.ceilings, results.paths, results.benchmarks)
        tell(results)
        return advice(results)

    return of


def _reach(results: Results, who: str, fraction: float) -> None:
    for cell in results.cells:
        if cell.who == Who(who) and cell.fraction:
            cell.fraction = fraction


def _more_launches(results: Results) -> None:
    for cell in results.cells:
        cell.launches = 6


def test_what_loses_most_comes_with_its_remedy(
    plain: Results, finding: Finding, advised: Advised
) -> None:
    plain.findings = [finding, msgspec.structs.replace(finding, who=Who("less"))]
    assert advised(plain) == [f"Largest confirmed loss: {sentence(finding)} Do it the other way."]


def test_what_a_message_loses_comes_first_too(
    plain: Results, finding: Finding, advised: Advised
) -> None:
    message = InMessage(messages=9, time_us=10.0, slower=1.1, share=0.7, lost_us=6.0)
    first = msgspec.structs.replace(finding, kind="dma_buf", cost=None, message=message)
    plain.findings = [first, finding]
    assert advised(plain) == [f"Look first at: {sentence(first)} Do it the other way."]


def test_no_one_is_sent_to_measure_what_was_left_out(plain: Results, advised: Advised) -> None:
    """No time brings more of it: a study without it is another one."""
    _more_launches(plain)
    few = [cell for cell in plain.cells if cell.case.benchmark == "latency"]
    for cell in few:
        cell.launches, cell.ci95 = 2, None
    assert advised(plain)[0].startswith("Measure more")
    plain.left_out = [
        LeftOut(kind="benchmark", name="x", why="so", benchmarks=["latency"], budget_seconds=9.0)
    ]
    assert not advised(plain)[0].startswith("Measure more")
    [notice] = [told for told in notices(plain) if "fewer than 6 launches" in told.text]
    assert notice.text.endswith(
        f" Of these, {len(few)} were left out, so that the budget holds the rest."
    )
    place, who = few[0].place.path, few[0].who
    plain.left_out = [
        LeftOut(kind="library", name="x", why="so", path=place, who=who, budget_seconds=9.0)
    ]
    assert {cell.who for cell in plain.cells if is_left_out(cell, plain)} == {who}


def test_a_finding_of_few_launches_is_no_advice(
    plain: Results, finding: Finding, advised: Advised
) -> None:
    plain.findings = [msgspec.structs.replace(finding, sure=False)]
    for cell in plain.cells:
        cell.launches = 5
    assert advised(plain) == [
        "Measure more before changing anything: an interval needs 6 launches."
    ]


def test_nothing_to_do_where_the_best_library_is_near_everywhere(
    plain: Results, advised: Advised
) -> None:
    _more_launches(plain)
    _reach(plain, "openmpi", 0.93)
    _reach(plain, "mpich", 0.5)
    assert advised(plain) == ["Nothing to do: openmpi is within 7.00 % of the ceiling everywhere."]


def test_where_nothing_that_was_measured_helps(plain: Results, advised: Advised) -> None:
    _more_launches(plain)
    _reach(plain, "openmpi", 0.6)
    _reach(plain, "mpich", 0.5)
    (text,) = advised(plain)
    assert text == (
        "No library comes near the ceiling on host-host same-numa in bw at 64 MiB (14.0 GB/s by"
        " single copy): the best one, openmpi (tied with mpich), reaches 60.0 % of it. Search for"
        " settings (`nearpeak tune`), or try other libraries."
    )


def test_what_carries_as_much_without_mpi_tells_what_to_look_for(
    plain: Results, advised: Advised
) -> None:
    _more_launches(plain)
    _reach(plain, "openmpi", 0.6)
    _reach(plain, "mpich", 0.5)
    advised(plain)
    [told] = plain.advice
    headline = next(headline for headline in plain.headlines if headline.case == told.case)
    assert headline.value
    assert headline.ceiling
    for point in plain.ceilings:
        point.methods |= {"slow": 0.8 * headline.value, "cma": 1.1 * headline.value}
    (text,) = advised(plain)
    assert (
        " reaches 60.0 % of it. It carries what one copy by the kernel (cma) does without MPI"
        in text
    )
    assert text.endswith(
        " GB/s): settings help only if they make messages move in another way, as"
        f" {headline.ceiling.method} does (docs/methods/ceilings.md says what each takes)."
    )
    for point in plain.ceilings:  # medians over several distances are like no launch
        point.cache_line_ns = [60.0, *(300.0 for _ in point.blocks[1:])]
    (text,) = advised(plain)
    assert "It carries what" not in text


@pytest.mark.parametrize(
    ("interval", "kind"),
    [
        ((0.28, 0.30), "far"),
        ((0.17, 0.90), "open"),  # it may be near
        ((0.12, 0.50), "open"),  # surely far, but a factor of 2 is chance
        ((0.81, 0.95), "near"),
    ],
)
def test_what_scatters_too_much_is_no_reason_to_try_others(
    plain: Results, advised: Advised, interval: tuple[float, float], kind: str
) -> None:
    _more_launches(plain)
    _reach(plain, "mpich", 0.2)
    for cell in plain.cells:
        if cell.who == Who("openmpi") and cell.fraction:
            cell.fraction, cell.fraction_ci95 = sum(interval) / 2, interval
    advised(plain)
    assert plain.advice[-1].kind == kind


def test_what_is_open_is_said_with_its_interval_and_why(plain: Results, advised: Advised) -> None:
    _more_launches(plain)
    _reach(plain, "mpich", 0.2)
    for cell in plain.cells:
        if cell.who == Who("openmpi") and cell.fraction:
            cell.fraction, cell.fraction_ci95 = 0.289, (0.17, 0.9)
            cell.flags = ["held down"]
    (text,) = advised(plain)
    assert text == (
        "Inconclusive how near any library comes to the ceiling on host-host same-numa in bw at"
        " 64 MiB (14.0 GB/s by single copy): the best one, openmpi (tied with mpich), reaches"
        " 28.9 % of it, and the 95 % interval is 17.0 to 90.0 %. Launches scatter: hardware was hot"
        " or slowed, or a hypervisor took CPU time. Measure more before changing anything."
    )
    for cell in plain.cells:
        cell.flags = []
    assert "Launches scatter: nothing recorded tells why." in advised(plain)[0]
    for cell in plain.cells:
        cell.flags = ["sessions apart", "drift"]
    plain.drift = [
        Drift(
            place=plain.headlines[0].place,
            blocks=[Block(0, number) for number in range(6)] + [Block(1, 6)],
            deviations=[0.0] * 6 + [-0.8],
            changed=[Block(1, 6)],
            step=-0.8,
        )
    ]
    assert (
        " Launches scatter: sessions differ by more than launches explain and the path changed"
        " during the study: session 2 (block 7) carried 80.0 % less than the others."
    ) in advised(plain)[0]
    for cell in plain.cells:
        cell.flags = []
    plain.conditions = Conditions(cores=2, loaded=True)
    (text,) = advised(plain)
    assert text.endswith(
        "Launches scatter: other work took the ranks' time. Measure again when the machine is idle."
    )


def test_on_a_loaded_machine_nobody_is_sent_to_try_others(plain: Results, advised: Advised) -> None:
    _more_launches(plain)
    _reach(plain, "openmpi", 0.6)
    _reach(plain, "mpich", 0.5)
    plain.conditions = Conditions(cores=2, loaded=True)
    assert advised(plain)[0].endswith("reaches 60.0 % of it. Measure the idle machine first.")


def test_all_that_names_a_best_library_names_the_same(
    plain: Results, tell: Callable[[Results], None], advised: Advised
) -> None:
    """The picture, the headlines and the advice, however close the libraries are."""
    _more_launches(plain)
    drawn = np.random.default_rng(7)
    seen = set()
    for _ in range(30):
        for cell in plain.cells:
            noise = drawn.normal(0, 0.05, cell.launches)
            base = 1.0 if cell.better == "higher" else 10.0
            cell.launch_medians = [
                base * float(np.exp(factor)) for factor in noise[: len(cell.blocks)]
            ]
            cell.median = median(cell.launch_medians)
            cell.fraction = 0.5 * (cell.median / base) ** (1 if cell.better == "higher" else -1)
        for comparison in plain.comparisons:
            comparison.verdict = ["slower", "undecided"][drawn.integers(2)]
        tell(plain)
        best = {
            (headline.place.path, case(headline.case)): headline.best.label
            for headline in plain.headlines
            if headline.best is not None
        }
        for row in measured(plain):
            assert row.who == best.get((row.name, "bw"))
        for path in wording.headlines(plain, groups(plain)):
            for words in path.first.removeprefix("First: ").rstrip(".").split("; "):
                who, _, cases = words.partition(" in ")
                for name in filter(None, cases.split(", ")):
                    assert best[path.place.path, name] == who.split(" (")[0]
                    seen.add("no proven difference" in who)
        (text,) = advised(plain)
        where, _, what = text.partition(" on ")[2].partition(" in ")
        assert what.partition(": the best one, ")[2].startswith(best[where, what.split(" at ")[0]])
    assert seen == {True, False}


def test_failures_and_the_hardware_come_first(
    results: Results, gpu: Results, advised: Advised
) -> None:
    assert advised(results)[0] == (
        "First find out why launches failed: <script>alert(1)</script> (1 launch)."
    )
    texts = advice(gpu)
    assert any(
        text.startswith("Check host-gpu near: without MPI it carries") for text in texts[:-1]
    )


def test_nothing_is_said_of_nothing(plain: Results, advised: Advised) -> None:
    plain.cells, plain.ceilings = [], []
    assert advised(plain) == []


@pytest.mark.parametrize("virtual", [False, True])
def test_a_path_below_its_data_sheet_is_to_be_checked(
    gpu: Results, tell: Callable[[Results], None], virtual: bool
) -> None:
    gpu.machine = msgspec.structs.replace(gpu.machine, virtual=virtual)
    tell(gpu)
    told = [text for text in advice(gpu) if text.startswith("Check host-gpu near: without MPI it")]
    assert len(told) == 2
    for text in told:
        assert " % of its theoretical " in text
        assert text.endswith("than its host has.") == virtual
    others = [text for text in advice(gpu) if text.startswith("Check gpu-gpu")]
    assert not any("host has" in text for text in others)
