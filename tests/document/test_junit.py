# SPDX-License-Identifier: Apache-2.0
"""JUnit XML: what it counts, and what it can hold."""

from xml.etree import ElementTree

from nearpeak.document.junit import Outcome, to_junit


def test_every_test_is_counted_and_says_why() -> None:
    root = ElementTree.fromstring(
        to_junit(
            "all",
            [
                ("one", [Outcome("a", "passed", said="well"), Outcome("a", "open", skipped="few")]),
                ("two", [Outcome("b", "failed", "slow", kind="regression", details="8 B\n64 B")]),
            ],
        )
    )
    counts = [
        [suite.get(name) for name in ("tests", "failures", "skipped")] for suite in (root, *root)
    ]
    assert counts == [["3", "1", "1"], ["2", "0", "1"], ["1", "1", "0"]]
    assert [element.text for element in root.iter("system-out")] == ["well"]
    assert [element.get("message") for element in root.iter("skipped")] == ["few"]
    [failure] = root.iter("failure")
    assert (failure.get("type"), failure.get("message")) == ("regression", "slow")
    assert failure.text == "8 B\n64 B"


def test_names_break_no_xml() -> None:
    nasty = "<b>\x1b&\x00"
    text = to_junit("all", [(nasty, [Outcome(nasty, nasty, nasty, "kind", nasty, said=nasty)])])
    [suite] = ElementTree.fromstring(text)
    assert suite.get("name") == "<b>\ufffd&\ufffd"
