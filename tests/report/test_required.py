# SPDX-License-Identifier: Apache-2.0
"""Requirements as a table, and as JUnit XML."""

from typing import Any
from xml.etree import ElementTree

from nearpeak.report.required import table, to_junit
from nearpeak.results.requirements import judge, parse_requirement
from nearpeak.results.subjects import measured

MakeStudy = Any
SAME = "host-host same-numa"


def test_each_requirement_and_library_has_a_row(make_study: MakeStudy) -> None:
    study = make_study("alpha", "beta")
    for block in range(6):
        study.launch(block, "alpha", "bw", {8: 9.0})
        study.launch(block, "beta", "bw", {8: 5.0})
    found = study.results()
    assert table(found).groups == []
    wanted = parse_requirement(f"{SAME}:bw:8>=8GB/s")
    found.requirements = judge([wanted], measured(found), found)
    [rows] = table(found).groups
    assert table(found).caption == "1 of 2 requirements met."
    assert [(row.head, row.values["who"].text, row.values["how"].tone) for row in rows.rows] == [
        (wanted.text, "alpha", "good"),
        (wanted.text, "beta", "bad"),
    ]
    assert rows.rows[1].values["how"].text.startswith("missed it: 5.00 GB/s")


def test_what_is_missed_fails_and_so_do_launches_that_failed(make_study: MakeStudy) -> None:
    study = make_study("alpha", "beta")
    for block in range(6):
        study.launch(block, "alpha", "bw", {8: 9.0})
        study.launch(block, "beta", "bw", {8: 5.0})
    texts = [f"{SAME}:bw:8>=8GB/s", f"{SAME}:bw:8>=1GB/s"]
    found = study.results()
    found.requirements = judge(map(parse_requirement, texts), measured(found), found)
    root = ElementTree.fromstring(to_junit(found))
    launches, path = root
    assert [launches.get("name"), path.get("name")] == ["launches", SAME]
    assert [(element.get("classname"), element.get("name")) for element in path] == [
        (who, text) for text in texts for who in ("alpha", "beta")
    ]
    assert (root.get("tests"), root.get("failures")) == ("5", "1")
    [failure] = root.iter("failure")
    assert (failure.get("message") or "").startswith("missed it: 5.00 GB/s")
    assert "met it: 9.00 GB/s ([9.00, 9.00]), bw at 8 B" in [
        element.text for element in root.iter("system-out")
    ]

    study.end(study.launch(6, "beta", "bw", {8: 5.0}, status=None), "crashed")
    root = ElementTree.fromstring(to_junit(study.results()))
    [failure] = root.iter("failure")
    assert failure.get("message") == "beta crashed in 1 launch, after its figures"
