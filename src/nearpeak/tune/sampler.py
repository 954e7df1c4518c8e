# SPDX-License-Identifier: Apache-2.0
"""Optuna's TPE sampler, which proposes values together."""

import math
import warnings
from collections.abc import Collection, Sequence

from nearpeak.tune.candidates import Candidate, by_variable

FAILS = 1.0  # above the worst figure: what a failure costs for the sampler


class Sampler:
    """Optuna's TPE sampler (Bergstra and others, NIPS 2011) over the values of each variable."""

    def __init__(self, candidates: Sequence[Candidate], seed: int) -> None:
        import optuna  # takes long to import

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        self._optuna = optuna
        self._values = by_variable(candidates)
        # Indexes of values; -1: none. The order decides what a seed draws.
        self._space: dict[str, optuna.distributions.BaseDistribution] = {
            name: optuna.distributions.CategoricalDistribution([-1, *range(len(values))])
            for name, values in sorted(self._values.items())
        }
        with warnings.catch_warnings():
            # The version is pinned, so that an interface that may change does not.
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            self._sampler = optuna.samplers.TPESampler(
                seed=seed, multivariate=True, n_startup_trials=0
            )
        self._storage = optuna.storages.InMemoryStorage()
        self._study = optuna.create_study(storage=self._storage, sampler=self._sampler)
        self._worst = 0.0

    def learn(self, values: Collection[Candidate], cost: float) -> None:
        """Adds a trial: its values, and its cost; nan if it failed."""
        if not math.isnan(cost):
            self._worst = max(self._worst, cost)
        chosen = dict.fromkeys(self._values, -1)
        for name, candidates in self._values.items():
            indexes = (n for n, candidate in enumerate(candidates) if candidate in values)
            chosen[name] = next(indexes, -1)
        self._study.add_trial(
            self._optuna.trial.create_trial(
                params=chosen,
                distributions=self._space,
                value=self._worst + FAILS if math.isnan(cost) else cost,
            )
        )

    def ask(self) -> list[Candidate]:
        """Proposes the values of the next trial. It samples all variables at once: a study would
        sample one after the other, and copy all of them each time."""
        # A study keeps the trials that it has read: a new one reads all.
        study = self._optuna.load_study(
            study_name=self._study.study_name, storage=self._storage, sampler=self._sampler
        )
        trial = self._optuna.trial.create_trial(state=self._optuna.trial.TrialState.RUNNING)
        indexes = self._sampler.sample_relative(study, trial, self._space)
        return [
            candidates[n] for name, candidates in self._values.items() if (n := indexes[name]) >= 0
        ]
