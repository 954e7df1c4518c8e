# SPDX-License-Identifier: Apache-2.0
"""What README and docs quote of recorded studies is what these say: the list is claims.toml."""

import functools
import operator
import re
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from nearpeak import numbers
from nearpeak.machine.gpus import pci
from nearpeak.machine.gpus.nvidia import LANE_PAYLOAD
from nearpeak.machine.gpus.nvlinks import MODELS
from nearpeak.report import wording
from nearpeak.results.build import from_json
from nearpeak.results.results import Results

ROOT = Path(__file__).parents[1]


class Claim(msgspec.Struct, forbid_unknown_fields=True):
    """A text of a file; each {} in it is one of the figures."""

    file: str
    example: str  # a folder of examples/
    text: str
    # "WHO | PATH | CASE | FIELD" of a cell, as "intel | gpu-gpu nvlink | bw D,D 16 MiB | median" of
    # "h200x2-shipped", where CASE may end with axes, as "staging=pinned"; of a ceiling (WHO is
    # "ceiling"), an application, or a finding (of which FIELD is). "compared FIELD": of WHO against
    # the default settings. "explained LEG NAME FIELD": of a part of a message. "method NAME": of a
    # method of a ceiling.
    figures: list[str] = []
    sessions: int = 1  # in which the recording was measured


class Elsewhere(msgspec.Struct, forbid_unknown_fields=True):
    """A text of a file with figures that no recording's results.json has."""

    file: str
    text: str
    where: str  # they are from


class Claims(msgspec.Struct, forbid_unknown_fields=True):
    claim: list[Claim]
    elsewhere: list[Elsewhere]


CLAIMS = msgspec.toml.decode(Path(__file__).with_name("claims.toml").read_bytes(), type=Claims)


@functools.cache
def results_of(example: str) -> Results:
    return from_json((ROOT / "examples" / example / "results.json").read_bytes())


def figure(results: Results, words: str) -> str:
    """How the report writes it."""
    who, path, case, name = words.split(" | ")
    case, *axes = re.split(r" (?=\w+=)", case)
    wanted = dict(axis.split("=") for axis in axes)
    if name.startswith("explained "):
        return explained(results, who, path, case, name.split()[1:])

    def at(found: Any) -> bool:
        extent = f"{found.case.figure} {found.case.buffers} {numbers.size(found.case.x)}"
        right = wanted.items() <= found.case.axes.items()
        return bool(found.place.path == path and case == extent and right)

    def mine(found: Any) -> bool:
        return at(found) and found.who.label == who

    sources: list[Any]
    if who == "ceiling":
        sources = [ceiling for ceiling in results.ceilings if at(ceiling)]
    elif name.startswith("compared "):
        name = name.removeprefix("compared ")
        sources = [each for each in results.comparisons if at(each) and each.second.label == who]
    elif name.startswith("cost"):
        sources = [finding for finding in results.findings if finding.cost and mine(finding)]
    elif name.startswith(("roofline", "cell")):
        sources = [application for application in results.applications if mine(application.cell)]
    else:
        sources = [cell for cell in results.cells if mine(cell)]
    assert sources, f"there is no {words}"
    if name.startswith("method "):
        return numbers.number(sources[0].methods[name.removeprefix("method ")])
    value = operator.attrgetter(name)(sources[0])  # of the default axes: those stand first
    scale = 100.0 if "fraction" in name or "of_plateau" in name else 1.0
    if name == "cost.range":
        return f"{numbers.number(value[0])} to {numbers.number(value[1])}"
    if isinstance(value, tuple):
        return numbers.interval(value, scale)
    return numbers.number(scale * value)


def explained(results: Results, who: str, path: str, case: str, words: Sequence[str]) -> str:
    """A field of a part of a message, as the explanation of it has it."""
    leg, name, field = words
    for each in results.explanations:
        for its in each.cases:
            if (each.who.label, each.path) != (who, path):
                continue
            if f"{each.benchmark} {each.buffers} {numbers.size(its.size_bytes)}" == case:
                (budget,) = (budget for budget in its.budgets if budget.leg == leg)
                part = next(part for part in budget.parts if part.name == name)
                value = getattr(part, field)
                return f"{value:,.0f}" if field in ("count", "bytes") else numbers.number(value)
    raise AssertionError(f"there is no {who} | {path} | {case}")


def plain(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()


@pytest.mark.parametrize("claim", CLAIMS.claim, ids=lambda claim: f"{claim.file}: {claim.text}")
def test_a_quoted_figure_is_that_of_the_recording(claim: Claim) -> None:
    results = results_of(claim.example)
    assert len(results.measuring_sessions) == claim.sessions
    said = claim.text.format(*(figure(results, words) for words in claim.figures))
    assert plain(said) in plain((ROOT / claim.file).read_text(encoding="utf-8"))


def test_the_guide_to_the_layer_has_the_times_of_a_recorded_run() -> None:
    """The times of docs/how-to/layer.md are those of CloverLeaf."""
    page = plain((ROOT / "docs" / "how-to" / "layer.md").read_text(encoding="utf-8"))
    recorded = (ROOT / "benchmarks" / "recorded" / "cloverleaf-h200.txt").read_text("utf-8")
    for deck in ("clover_bm_short", "clover_bm16_short"):
        times = {}
        for way in ("layer", "alone"):
            runs = re.findall(
                rf"^== {deck} \d+ {way}$.*?^ Wall clock (\S+)$",
                recorded,
                re.DOTALL | re.MULTILINE,
            )
            assert len(runs) == 5
            times[way] = f"{statistics.median(map(float, runs)):.2f}"
        row = rf"\| `{deck}`, [^|]* \| {times['layer']} s \| {times['alone']} s \|"
        assert re.search(row, page)


def test_the_tutorial_has_the_rates_of_sound_links() -> None:
    """`nearpeak machine` prints these rates."""
    page = (ROOT / "docs" / "tutorials" / "accept-a-node.md").read_text(encoding="utf-8")
    of_pcie = [[pci.link_gbs(generation, lanes) for lanes in (16, 8)] for generation in range(3, 7)]
    for generation, rates in enumerate(of_pcie, start=3):
        row = " | ".join(f"{rate:.4g}" for rate in rates if rate)
        assert f"| generation {generation} | {row} |" in page
    of_nvlink = re.findall(
        r"^\| (\w+)\b.* \(NVLink (\d)\) \| (\d+) \| (\d+) \|$", page, re.MULTILINE
    )
    assert len(of_nvlink) == 4
    names = {"V100": "V100-SXM2", "A100": "A100-SXM4", "H100": "H100 80GB HBM3", "B200": "B200"}
    link_mbs = {"2": 25781, "3": 25000, "4": 26562, "5": 53125}
    for model, generation, links, rate in of_nvlink:
        [known] = [each.links for each in MODELS if each.fits(names[model])]
        mbs = LANE_PAYLOAD.get(link_mbs[generation], link_mbs[generation])
        assert (int(links), int(rate)) == (known, known * mbs / 1000)


def test_the_changelog_has_the_windows_of_recorded_runs() -> None:
    """Those of the layer with batches of copies, and those without."""
    recorded = (ROOT / "benchmarks" / "recorded" / "layer-windows-h200x2.txt").read_text("utf-8")
    medians = {}
    for layer in ("new", "old"):
        runs = re.findall(rf"^== {layer} bw$(.*?)^==", recorded, re.DOTALL | re.MULTILINE)
        assert len(runs) == 4
        rates = [float(re.findall(r"^65536 (\S+)$", run, re.MULTILINE)[0]) for run in runs]
        medians[layer] = f"{statistics.median(rates):.0f}"
    said = f"windows of 64 KiB over NVLink move at {medians['new']} GB/s, {medians['old']} before"
    assert said in plain((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))


def test_the_changelog_has_the_short_messages_of_recorded_runs() -> None:
    """Those of the layer by envelope and through host memory, of the second machine."""
    file = ROOT / "benchmarks" / "recorded" / "layer-short-messages-h200x2.txt"
    _, _, recorded = file.read_text("utf-8").partition("== another one")
    medians = {}
    for benchmark in ("latency", "bw"):
        for layer in ("new", "old"):
            runs = re.findall(rf"^\d {layer} {benchmark} nvlink: 8 (\S+)", recorded, re.MULTILINE)
            assert len(runs) >= 4
            medians[benchmark, layer] = statistics.median(map(float, runs))
    times = f"{medians['latency', 'new']:.2f} µs, {medians['latency', 'old']:.2f} before"
    rates = f"{medians['bw', 'new'] * 1e3:.2f} MB/s, {medians['bw', 'old'] * 1e3:.3f} before"
    said = f"8 bytes over NVLink take {times}, and windows of them move at {rates}"
    assert said in plain((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))


def test_the_pages_have_the_host_windows_of_recorded_runs() -> None:
    """Those of the layer with landing memory, and those without."""
    file = ROOT / "benchmarks" / "recorded" / "layer-host-windows-h200x2.txt"
    recorded = file.read_text("utf-8")

    def median(layer: str, path: str, size: int) -> float:
        lines = re.findall(rf"^\d {layer} bw {path}: .*?\b{size} (\S+)", recorded, re.MULTILINE)
        assert len(lines) == 3
        return statistics.median(map(float, lines))

    ways = ("host-gpu near H,D", "host-gpu near D,H", "host-gpu near D,P")
    to_gpu, from_gpu, pinned = (
        f"{median('new', way, 65536):.1f} GB/s, {median('old', way, 65536):.1f} before"
        for way in ways
    )
    within = [median(layer, "gpu-gpu same-gpu D,D", 16 << 20) for layer in ("new", "old")]
    changelog = plain((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))
    assert f"move to the GPU at {to_gpu}, from the GPU at {from_gpu}, and into" in changelog
    assert f"pinned memory at {pinned}" in changelog
    assert f"move at {within[0]:.0f} GB/s, {within[1]:.0f} before" in changelog
    page = (ROOT / "docs" / "how-to" / "layer.md").read_text(encoding="utf-8")
    for name, way in zip(
        ("host to GPU", "GPU to host", "GPU to pinned host memory"), ways, strict=True
    ):
        row = " | ".join(f"{median('new', way, size):.3g}" for size in (4096, 65536, 262144))
        assert f"| {name} | {row} |" in page


def test_every_figure_of_the_readme_is_a_claim() -> None:
    """Every number with a unit, but for code and what claims.toml says where it is from."""
    code = re.compile(r"^ {4}.*$", re.MULTILINE)
    text = plain(code.sub("", (ROOT / "README.md").read_text(encoding="utf-8")))
    said = [
        claim.text.format(*(figure(results_of(claim.example), words) for words in claim.figures))
        for claim in CLAIMS.claim
        if claim.file == "README.md"
    ]
    said += [each.text for each in CLAIMS.elsewhere if each.file == "README.md"]
    begins = [(text.index(plain(each)), len(plain(each))) for each in said]
    unclaimed = [
        found[0]
        for found in re.finditer(r"\d[\d.,]*(?: to \d[\d.,]*)? (?:µs|ms|GB/s|%|times)", text)
        if not any(at <= found.start() and found.end() <= at + n for at, n in begins)
    ]
    assert unclaimed == []


def test_the_precision_in_the_readme_is_that_of_the_recording() -> None:
    said = wording.precision(results_of("h200x2-shipped"))
    words = re.match(r"Half of the (\d+) intervals \(95 %\) are ±(\S+) % or narrower", said)
    assert words is not None, said
    text = plain((ROOT / "README.md").read_text(encoding="utf-8"))
    assert f"half of the study's {words[1]} intervals are ±{words[2]} % or narrower" in text


def test_every_recording_that_the_docs_name_is_there() -> None:
    for file in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))):
        for name in re.findall(r"examples/([\w-]+)", file.read_text(encoding="utf-8")):
            assert (ROOT / "examples" / name).is_dir(), f"{file.name} names examples/{name}"
