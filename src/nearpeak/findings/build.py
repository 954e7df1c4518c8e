# SPDX-License-Identifier: Apache-2.0
"""Builds results.json from a study folder."""

from pathlib import Path

from nearpeak.findings.advice import advise
from nearpeak.findings.find import find
from nearpeak.observations.load import load
from nearpeak.observations.observed import Observations
from nearpeak.results.build import summarise
from nearpeak.results.results import Results


def build_results(folder: Path) -> Results:
    """The results of the study in `folder`; UserError if it cannot be read."""
    return results_of(load(folder))


def results_of(observations: Observations) -> Results:
    """The results of the observations, with findings and advice."""
    results = summarise(observations)
    results.findings = find(results, observations)
    results.advice = advise(results)
    return results
