# SPDX-License-Identifier: Apache-2.0
"""What README and docs quote of recorded studies is what these say: the list is claims.toml."""

import functools
import operator
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from nearpeak import numbers
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
    # "h200x2-shipped"; of a ceiling (WHO is "ceiling"), an application, or a finding (of which
    # FIELD is).
    figures: list[str] = []
    sessions: int = 1  # in which the recording was measured


class Claims(msgspec.Struct, forbid_unknown_fields=True):
    claim: list[Claim]


CLAIMS = msgspec.toml.decode(Path(__file__).with_name("claims.toml").read_bytes(), type=Claims)


@functools.cache
def results_of(example: str) -> Results:
    return from_json((ROOT / "examples" / example / "results.json").read_bytes())


def figure(results: Results, words: str) -> str:
    """How the report writes it."""
    who, path, case, name = words.split(" | ")

    def at(found: Any) -> bool:
        extent = f"{found.case.figure} {found.case.buffers} {numbers.size(found.case.x)}"
        return bool(found.place.path == path and case == extent)

    def mine(found: Any) -> bool:
        return at(found) and found.who.label == who

    sources: list[Any]
    if who == "ceiling":
        sources = [ceiling for ceiling in results.ceilings if at(ceiling)]
    elif name.startswith("cost"):
        sources = [finding for finding in results.findings if finding.cost and mine(finding)]
    elif name.startswith(("roofline", "cell")):
        sources = [application for application in results.applications if mine(application.cell)]
    else:
        sources = [cell for cell in results.cells if mine(cell)]
    assert sources, f"there is no {words}"
    value = operator.attrgetter(name)(sources[0])  # of the default axes: those stand first
    scale = 100.0 if "fraction" in name or "of_plateau" in name else 1.0
    if name == "cost.range":
        return f"{numbers.number(value[0])} to {numbers.number(value[1])}"
    if isinstance(value, tuple):
        return numbers.interval(value, scale)
    return numbers.number(scale * value)


def plain(text: str) -> str:
    return re.sub(r"\s+", " ", text)


@pytest.mark.parametrize("claim", CLAIMS.claim, ids=lambda claim: f"{claim.file}: {claim.text}")
def test_a_quoted_figure_is_that_of_the_recording(claim: Claim) -> None:
    results = results_of(claim.example)
    assert len(results.measuring_sessions) == claim.sessions
    said = claim.text.format(*(figure(results, words) for words in claim.figures))
    assert plain(said) in plain((ROOT / claim.file).read_text(encoding="utf-8"))


def test_the_precision_in_the_readme_is_that_of_the_recording() -> None:
    said = wording.precision(results_of("h200x2-shipped"))
    words = re.match(r"Half of the (\d+) intervals \(95 %\) are ±(\S+) % or narrower", said)
    assert words is not None, said
    text = plain((ROOT / "README.md").read_text(encoding="utf-8"))
    assert f"half of its {words[1]} intervals are within ±{words[2]} %" in text


def test_every_recording_that_the_docs_name_is_there() -> None:
    for file in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))):
        for name in re.findall(r"examples/([\w-]+)", file.read_text(encoding="utf-8")):
            assert (ROOT / "examples" / name).is_dir(), f"{file.name} names examples/{name}"
