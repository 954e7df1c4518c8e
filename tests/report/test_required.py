# SPDX-License-Identifier: Apache-2.0
"""Requirements as JUnit XML."""

from typing import Any
from xml.etree import ElementTree

from nearpeak.report.required import to_junit
from nearpeak.results.requirements import judge, parse_requirement
from nearpeak.results.subjects import measured

MakeStudy = Any
SAME = "host-host same-numa"


def test_what_is_missed_fails_and_so_do_launches_that_failed(make_study: MakeStudy) -> None:
    study = make_study("alpha", "beta")
    for block in range(6):
        study.launch(block, "alpha", "bw", {8: 9.0})
        study.launch(block, "beta", "bw", {8: 5.0})
    texts = [f"{SAME}:bw:8>=8GB/s", f"{SAME}:bw:8>=1GB/s"]
    found = study.results()
    judged = judge(map(parse_requirement, texts), measured(found), found)
    root = ElementTree.fromstring(to_junit(found, judged))
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
    root = ElementTree.fromstring(to_junit(study.results(), []))
    [failure] = root.iter("failure")
    assert failure.get("message") == "beta: 1 launch crashed"
