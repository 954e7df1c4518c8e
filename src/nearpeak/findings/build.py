# SPDX-License-Identifier: Apache-2.0
"""From a study folder to all of results.json."""

from pathlib import Path

from nearpeak.findings.advice import advise
from nearpeak.findings.find import find
from nearpeak.observations.load import load
from nearpeak.results.build import summarise
from nearpeak.results.results import Results


def build_results(folder: Path) -> Results:
    """What the study in `folder` found; UserError when there is none that can be read."""
    results = summarise(load(folder))
    results.findings = find(results)
    results.advice = advise(results)
    return results
