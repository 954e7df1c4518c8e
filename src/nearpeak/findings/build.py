# SPDX-License-Identifier: Apache-2.0
"""From a study folder to all of results.json."""

from pathlib import Path

from nearpeak.findings.advice import advise
from nearpeak.findings.find import find
from nearpeak.observations.load import load
from nearpeak.observations.observed import Observations
from nearpeak.results.build import summarise
from nearpeak.results.results import Results


def build_results(folder: Path) -> Results:
    """What the study in `folder` found; UserError when there is none that can be read."""
    return results_of(load(folder))


def results_of(observations: Observations) -> Results:
    """What these come to."""
    results = summarise(observations)
    results.findings = find(results, observations)
    results.advice = advise(results)
    return results
