# SPDX-License-Identifier: Apache-2.0
"""JUnit XML, which CI systems read: suites of tests that passed, failed or were skipped."""

from collections.abc import Iterable
from dataclasses import dataclass
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from nearpeak.numbers import printable


@dataclass(frozen=True)
class Outcome:
    """One test case; passed unless `failure` or `skipped` gives a reason."""

    classname: str
    name: str
    failure: str = ""
    kind: str = ""  # of the failure
    details: str = ""  # of the failure, in lines
    skipped: str = ""
    said: str = ""  # its output


def required(classname: str, name: str, text: str, *, met: bool) -> Outcome:
    """The test case of a requirement; `text` says how it is met or missed."""
    if met:
        return Outcome(classname, name, said=text)
    return Outcome(classname, name, failure=text, kind="requirement")


def to_junit(name: str, suites: Iterable[tuple[str, Iterable[Outcome]]]) -> str:
    """Returns the whole file; characters that XML cannot hold are replaced."""
    root = Element("testsuites", name=name)
    for title, tests in suites:
        suite = SubElement(root, "testsuite", name=printable(title))
        for test in tests:
            _test(suite, test)
        _count(suite)
    _count(root)
    ElementTree.indent(root)
    text = ElementTree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'


def _test(suite: Element, outcome: Outcome) -> None:
    case = SubElement(
        suite, "testcase", classname=printable(outcome.classname), name=printable(outcome.name)
    )
    if outcome.failure:
        failure = SubElement(case, "failure", type=outcome.kind, message=printable(outcome.failure))
        failure.text = "\n".join(map(printable, outcome.details.splitlines())) or None
    elif outcome.skipped:
        SubElement(case, "skipped", message=printable(outcome.skipped))
    if outcome.said:
        SubElement(case, "system-out").text = printable(outcome.said)


def _count(element: Element) -> None:
    for name, path in (("tests", "testcase"), ("failures", "failure"), ("skipped", "skipped")):
        element.set(name, str(sum(1 for _ in element.iter(path))))
