# SPDX-License-Identifier: Apache-2.0
"""Builds results.json from a study folder."""

from collections.abc import Callable, Sequence
from pathlib import Path

from nearpeak.findings.advice import advise
from nearpeak.findings.find import find
from nearpeak.findings.weights import Weigh, by_family
from nearpeak.observations.load import load
from nearpeak.observations.observed import Observations
from nearpeak.results.build import summarise
from nearpeak.results.results import Results
from nearpeak.terms.benchmarks import Benchmark

Weights = Callable[[Sequence[Benchmark]], Weigh]  # of a study's benchmarks


def build_results(folder: Path, weights: Weights | None = None) -> Results:
    """The results of the study in `folder`; UserError if it cannot be read. `weights`: what orders
    the findings; None: as common as cases are in applications."""
    return results_of(load(folder), weights)


def results_of(observations: Observations, weights: Weights | None = None) -> Results:
    """The results of the observations, with findings and advice; `weights` as `build_results`."""
    results = summarise(observations)
    weigh = weights(results.benchmarks) if weights else by_family
    results.findings = find(results, observations, weigh)
    results.advice = advise(results)
    return results
