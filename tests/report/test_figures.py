# SPDX-License-Identifier: Apache-2.0
"""The figures of an answer agree: a ratio is that of the two figures that are printed with it, and
one that is printed twice is the same."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from nearpeak.numbers import number
from nearpeak.report.behind import far_behind
from nearpeak.report.cards import card, cards
from nearpeak.report.findings import headline
from nearpeak.report.lines import lines, poor
from nearpeak.results.build import from_json
from nearpeak.results.results import Results

EXAMPLES = Path(__file__).parents[2] / "examples"
RECORDINGS = sorted(EXAMPLES.glob("*/results.json")) + sorted(EXAMPLES.glob("*/*/results.json"))
# A figure of a sentence: no size, no count, no percentage, no ratio, and no part of a name.
FIGURE = re.compile(
    r"(?<![\w.,@+/-])(\d+(?:\.\d+)?)(?! (?:B|[KMG]iB|%|in flight|of \d|launch|message|pieces|more))"
    r"(?=[ ,;:)]|\.?$|\. )"
)
RATIO = re.compile(r"\((\d+(?:\.\d+)?)x")


def bounds(text: str) -> tuple[float, float]:
    """The least and the greatest figure that is printed so, with three digits."""
    half = 0.5 * 10.0 ** -len(text.partition(".")[2])
    digits = len(text.replace(".", "").lstrip("0"))
    if digits > 3:  # 9140 stands for 9135 to 9145
        half *= 10.0 ** (digits - 3)
    return float(text) - half, float(text) + half


def may_be(ratio: str, first: str, second: str) -> bool:
    """True if a printed ratio may be that of two printed figures, one way or the other."""
    low, high = bounds(ratio)
    return any(
        bounds(one)[0] / bounds(other)[1] <= high and bounds(one)[1] / bounds(other)[0] >= low
        for one, other in ((first, second), (second, first))
    )


def disagreeing(text: str, remedy: str = "") -> Iterator[str]:
    """Yields the ratios of a finding that are not those of the figures before them: of the first
    figure of all, which is the one that loses, and the last one before the ratio."""
    figures = FIGURE.findall(text)
    for part, offset in ((text, 0), (remedy, len(figures))):
        for ratio in RATIO.finditer(part):
            before = [*(figures if offset else ()), *FIGURE.findall(part[: ratio.start()])]
            if len(before) < 2 or not may_be(ratio[1], before[0], before[-1]):
                yield f"{ratio[1]} of {before} in {text} {remedy}"


def read(file: Path) -> Results:
    return from_json(file.read_bytes())


def test_ratios_that_do_not_divide_are_seen() -> None:
    text = "openmpi, host-gpu near: bw to GPU 16 MiB: 0.941 GB/s, 4.64 in reverse (4.93x)"
    assert list(disagreeing(text, "Use intel: 7.57 GB/s (8.05x; crashed).")) == []
    assert len(list(disagreeing(text, "Use intel: 7.57 GB/s (7.84x; crashed)."))) == 1
    assert len(list(disagreeing(text.replace("4.93x", "4.90x")))) == 1
    text = "openmpi: one message of 8 B: 155 µs; 64 in flight: 5.94 µs each (26.1x)"
    assert list(disagreeing(text, "Use mpich+layer: 7.28 µs (21.3x).")) == []
    assert list(disagreeing("latency 8 B: 9140 µs; 2,037 pieces", "Use it: 964 µs (9.49x).")) == []
    assert (
        len(list(disagreeing("latency 8 B: 9140 µs; 2,037 pieces", "Use it: 964 µs (9.70x)."))) == 1
    )


@pytest.mark.parametrize("file", RECORDINGS, ids=lambda file: file.parent.name)
def test_each_ratio_is_that_of_the_figures_beside_it(file: Path) -> None:
    results = read(file)
    shown = [*cards(results, Path("DIR"), poor(lines(results))).findings]
    shown += [card(finding, results) for finding in results.findings]
    assert [one for each in shown for one in disagreeing(each.text, each.remedy)] == []


@pytest.mark.parametrize("file", RECORDINGS, ids=lambda file: file.parent.name)
def test_each_library_is_as_far_behind_as_its_figure_says(file: Path) -> None:
    results = read(file)
    for line in far_behind(results, lines(results)):
        best, *others = FIGURE.findall(line)
        ratios = RATIO.findall(line)
        assert len(ratios) == len(others) > 0, line
        assert all(may_be(*three, best) for three in zip(ratios, others, strict=True)), line


@pytest.mark.parametrize("file", RECORDINGS, ids=lambda file: file.parent.name)
def test_a_finding_of_the_answer_has_the_figures_of_the_table(file: Path) -> None:
    results = read(file)
    texts = [one.text for one in cards(results, Path("DIR"), poor(lines(results))).findings]
    heads = {
        (head.best, head.place, head.case): number(head.value)
        for line in lines(results)
        for head in (line.time, line.rate)
        if head
    }
    for finding in results.findings:
        key = (finding.who, finding.place, finding.case)
        mine = [
            number(figure.value)
            for figure in finding.evidence
            if figure.of == "own" and figure.scaled == 1
        ]
        if mine and key in heads and headline(finding, results.benchmarks) in texts:
            assert heads[key] in mine
