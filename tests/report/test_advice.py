# SPDX-License-Identifier: Apache-2.0
"""The first sentences of a report."""

import msgspec

from nearpeak.identity import Who
from nearpeak.report.advice import advice
from nearpeak.report.headlines import groups
from nearpeak.results.model import Finding, Results
from nearpeak.results.theoretical import compare


def _advice(results: Results) -> list[str]:
    """Of a machine whose links nobody knows the rates of."""
    results.paths = [msgspec.structs.replace(path, theoretical_gbs=None) for path in results.paths]
    compare(results.ceilings, results.paths, results.benchmarks)
    return advice(results, groups(results))


def _reach(results: Results, who: str, fraction: float) -> None:
    for cell in results.cells:
        if cell.who == Who(who) and cell.fraction:
            cell.fraction = fraction


def _more_launches(results: Results) -> None:
    for cell in results.cells:
        cell.launches = 6


def test_what_loses_most_comes_with_its_remedy(plain: Results, finding: Finding) -> None:
    finding.remedy = "Do it the other way."
    plain.findings = [finding, msgspec.structs.replace(finding, sentence="Less.")]
    assert _advice(plain) == ["Largest loss: Something stands out. Do it the other way."]


def test_a_finding_of_few_launches_is_no_advice(plain: Results, finding: Finding) -> None:
    plain.findings = [msgspec.structs.replace(finding, sure=False)]
    for cell in plain.cells:
        cell.launches = 5
    assert _advice(plain) == [
        "Measure more before changing anything: an interval needs 6 launches."
    ]


def test_nothing_to_do_where_the_best_library_is_near_everywhere(plain: Results) -> None:
    _more_launches(plain)
    _reach(plain, "openmpi", 0.93)
    _reach(plain, "mpich", 0.5)
    assert _advice(plain) == ["Nothing to do: openmpi is within 7.00 % of the ceiling everywhere."]


def test_where_nothing_that_was_measured_helps(plain: Results) -> None:
    _more_launches(plain)
    _reach(plain, "openmpi", 0.6)
    _reach(plain, "mpich", 0.5)
    (text,) = _advice(plain)
    assert text.startswith("Nothing that was measured beats openmpi, which reaches 60.0 % of the")
    assert text.endswith("try other settings or libraries.")


def test_failures_and_the_hardware_come_first(results: Results, gpu: Results) -> None:
    assert _advice(results)[0] == (
        "Find out first why launches failed: <script>alert(1)</script> (1 launch)."
    )
    texts = advice(gpu, groups(gpu))
    assert any(text.startswith("Worth a look: host-gpu near carries") for text in texts[:-1])


def test_nothing_is_said_of_nothing(plain: Results) -> None:
    plain.cells, plain.ceilings = [], []
    assert _advice(plain) == []
