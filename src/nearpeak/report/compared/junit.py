# SPDX-License-Identifier: Apache-2.0
"""A comparison as JUnit XML, for CI systems: a suite for each place, a test case for each curve.

A test fails where its curve, or a size of it, regressed, and where the new side did not measure it;
it is skipped where nothing can be told, and where that is allowed.
"""

from collections.abc import Iterable
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from nearpeak.compare.model import Change, Compared, CurveChange, Lost, Missing, PlaceChange
from nearpeak.identity import Place
from nearpeak.numbers import number, printable, size, unit
from nearpeak.report.compared import words
from nearpeak.results.names import label
from nearpeak.statistics.verdicts import UNDECIDED


def to_junit(compared: Compared) -> str:
    """The file, whole."""
    root = Element("testsuites", name="nearpeak compare")
    lost = [one.place for one in compared.lost]
    missing = [one.place for one in compared.missing]
    for place in dict.fromkeys([*(one.place for one in compared.places), *lost, *missing]):
        suite = SubElement(root, "testsuite", name=_text(place.path))
        for one in compared.places:
            if one.place == place:
                _of_place(suite, one)
        for curve in compared.missing:
            if curve.place == place:
                _missing(suite, curve, allowed=compared.allow_missing)
        _lost(suite, place, compared.lost)
        _count(suite)
    _count(root)
    ElementTree.indent(root)
    text = ElementTree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'


def _of_place(suite: Element, found: PlaceChange) -> None:
    name = found.who.label
    _case(suite, name, "all curves", found.change, [])
    for curve in found.curves:
        _case(suite, name, label(curve.curve), curve.change, _regressed(curve))


def _regressed(curve: CurveChange) -> list[str]:
    """A line for each size that did."""
    return [
        f"{size(cell.case.x)}: {number(cell.old)} -> {number(cell.new)} {unit(cell.unit)},"
        f" {words.sentence(cell.change)}"
        for cell in curve.cells
        if cell.change.regressed
    ]


def _case(suite: Element, who: str, name: str, change: Change, sizes: list[str]) -> None:
    case = SubElement(suite, "testcase", classname=_text(who), name=_text(name))
    if change.regressed or sizes:
        message = words.sentence(change) if change.regressed else sizes[0]
        failure = SubElement(case, "failure", type="regression", message=message)
        failure.text = "\n".join(sizes)
    elif change.verdict == UNDECIDED:
        SubElement(case, "skipped", message=words.sentence(change))


def _missing(suite: Element, one: Missing, *, allowed: bool) -> None:
    case = SubElement(
        suite, "testcase", classname=_text(one.who.label), name=_text(label(one.curve))
    )
    message = "measured before, not now"
    if allowed:
        SubElement(case, "skipped", message=message)
    else:
        SubElement(case, "failure", type="missing", message=message)


def _lost(suite: Element, place: Place, found: Iterable[Lost]) -> None:
    here = [one for one in found if one.place == place]
    for sentence in words.lost(here):
        case = SubElement(suite, "testcase", classname="no longer measured", name=_text(sentence))
        SubElement(case, "failure", type="lost", message=_text(sentence))


def _count(element: Element) -> None:
    for name, path in (("tests", "testcase"), ("failures", "failure"), ("skipped", "skipped")):
        element.set(name, str(sum(1 for _ in element.iter(path))))


def _text(text: str) -> str:
    """Text that XML can hold: it has no control characters."""
    return printable(text)
