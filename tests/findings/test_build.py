# SPDX-License-Identifier: Apache-2.0
"""Results with their findings, from a folder."""

from typing import Any

from nearpeak.launching.describe import Variant


def test_findings_come_with_the_results(make_study: Any) -> None:
    study = make_study()
    axes = {"calls": "nonblocking", "reuse": "fixed"}
    study.variants[1] = Variant(benchmark="bw", axes=axes)
    for block in range(6):
        study.ceiling(block, {("latency", "ring", 1024): 1.0, ("bw", "ring", 1024): 2.0})
        study.launch(block, "alpha", "latency", {1024: 10.0})
        launch = study.launch(block, "alpha", "bw", status=None)
        study.records.append(study.samples("bw", 1024, [1.5] * 5, launch=launch, axes=axes))
        study.end(launch, "ok")
    assert [finding.kind for finding in study.results().findings] == ["blocking"]
