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


def test_a_library_far_behind_is_named_with_its_worst_figures() -> None:
    assert sentences(read("h200x4")) == [
        "openmpi-cuda is far behind the best: latency 17.7x on gpu-gpu nvlink, bw 10.8x on gpu-gpu"
        " same-gpu."
    ]


def test_libraries_that_are_worst_in_the_same_figure_share_a_line() -> None:
    assert sentences(read("h200x2-shipped")) == [
        "openmpi-cuda and intel are far behind the best: latency 21.5x and 21.0x on gpu-gpu"
        " same-gpu."
    ]


def test_several_libraries_have_a_line_each() -> None:
    first, second = sentences(read("h200"))
    assert first == "mpich+layer is far behind the best: bw 10.6x on host-gpu near (from GPU)."
    assert second.startswith("openmpi-cuda is far behind the best: bw 7.84x on host-gpu near (to ")


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
    assert str(lost) == "crashed in 2 of 9 launches"
    assert not lost.unfit
    results = read("h200x2-shipped")
    lost = losses(results, intel.who, results.failures[0].place)
    assert (lost.failed, lost.launches, lost.unfit) == (6, 7, True)
    lost = losses(results, Who("mpich+layer"), results.failures[0].place)
    assert (lost.failed, str(lost), lost.unfit) == (0, "", False)


def test_a_launch_without_figures_is_counted() -> None:
    """The records have it, and no cell."""
    results = read("h200x2-shipped")
    (failed, *_) = results.failures
    for kind in results.failure_kinds:
        kind.of = 16
    assert losses(results, failed.who, failed.place).launches == 16
