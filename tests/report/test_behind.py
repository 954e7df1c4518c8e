# SPDX-License-Identifier: Apache-2.0
"""Libraries that are far behind the best one, and how often the launches of a library failed."""

from pathlib import Path

import pytest

from nearpeak.report.behind import WIDEST, far_behind, losses
from nearpeak.report.lines import lines
from nearpeak.results.build import from_json
from nearpeak.results.results import Results
from nearpeak.terms.identity import Who

EXAMPLES = Path(__file__).parents[2] / "examples"
RECORDINGS = sorted(EXAMPLES.glob("*/results.json")) + sorted(EXAMPLES.glob("*/*/results.json"))


def read(name: str) -> Results:
    return from_json((EXAMPLES / name / "results.json").read_bytes())


def sentences(results: Results) -> list[str]:
    """The lines of an answer on the libraries that are far behind."""
    return far_behind(results, lines(results))


def test_a_library_far_behind_has_its_path_and_both_figures() -> None:
    assert sentences(read("h200x4")) == [
        "gpu-gpu nvlink, latency 8 B: best 12.2 µs, openmpi-cuda 214 (17.5x behind).",
        "gpu-gpu same-gpu, bw 16 MiB: best 1470 GB/s, openmpi-cuda 136 (10.8x behind).",
    ]


def test_libraries_that_are_behind_by_less_are_named_where_the_line_has_room() -> None:
    first, _ = sentences(read("h200x2-shipped"))
    assert first == (
        "gpu-gpu same-gpu, latency 8 B: best 7.50 µs, openmpi-cuda 157 (21.0x behind), intel 153"
        " (20.4x)."
    )
    _, second = sentences(read("h200"))
    assert second == (
        "host-gpu near, latency 8 B: best 4.37 µs, intel 9.80 (2.24x behind), openmpi-cuda 7.83"
        " (1.79x)."
    )


def test_the_second_line_is_of_another_library() -> None:
    first, second = sentences(read("h200"))
    assert first == (
        "host-gpu near (from GPU), bw 16 MiB: best 13.3 GB/s, mpich+layer 1.30 (10.2x behind)."
    )
    assert "intel" in second


def test_what_is_not_proven_is_not_said() -> None:
    results = read("h200x4")
    for compared in results.comparisons:
        compared.verdict = "undecided"
    assert sentences(results) == []
    results = read("h200x4")
    for compared in results.comparisons:
        compared.ci95 = (0.6, 0.9)
    assert sentences(results) == []


def test_other_settings_of_the_best_library_are_not_another_library() -> None:
    results = read("h200x4")
    for head in results.headlines:
        if head.best:
            head.best = Who("openmpi-cuda", "tuned")
    assert sentences(results) == []


@pytest.mark.parametrize("file", RECORDINGS, ids=lambda file: file.parent.name)
def test_a_line_fits_a_terminal(file: Path) -> None:
    assert all(len(line) <= WIDEST for line in sentences(from_json(file.read_bytes())))


def test_failures_are_counted_among_the_launches_of_their_path() -> None:
    results = read("h200")
    intel = next(failed for failed in results.failures if failed.who.library == "intel")
    lost = losses(results, intel.who, intel.place)
    assert (lost.failed, lost.launches) == (2, 9)
    assert str(lost) == "crashed at the end of 2 of 9 launches"
    for kind in results.failure_kinds:
        kind.lost = 3
    lost = losses(results, intel.who, intel.place)
    assert str(lost) == "crashed in 2 of 9 launches and lost figures"
    for kind in results.failure_kinds:
        kind.lost = None
    assert str(losses(results, intel.who, intel.place)) == "crashed in 2 of 9 launches"
    assert not lost.unfit
    results = read("h200x4-collectives")
    lost = losses(results, intel.who, results.failures[0].place)
    assert (lost.failed, lost.launches, lost.unfit) == (4, 8, True)
    lost = losses(results, Who("openmpi+layer"), results.failures[0].place)
    assert (lost.failed, str(lost), lost.unfit) == (0, "", False)


def test_a_launch_without_figures_is_counted() -> None:
    """The records have it, and no cell."""
    results = read("h200")
    (failed, *_) = results.failures
    for kind in results.failure_kinds:
        kind.of = 16
    assert losses(results, failed.who, failed.place).launches == 16
