# SPDX-License-Identifier: Apache-2.0
"""Optuna's TPE sampler, which proposes values together."""

import math
import warnings
from collections.abc import Collection, Sequence

from nearpeak.tune.candidates import Candidate, by_variable

FAILS = 1.0  # above the worst figure: what a failure costs for the sampler


class Sampler:
    """Optuna's TPE sampler (Bergstra and others, NIPS 2011) over the values of each variable."""

    def __init__(self, known: Sequence[Candidate], seed: int) -> None:
        import optuna  # takes long to import

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        self._optuna = optuna
        self._values = by_variable(known)
        # Indexes of values; -1: none.
        self._space: dict[str, optuna.distributions.BaseDistribution] = {
            name: optuna.distributions.CategoricalDistribution([-1, *range(len(values))])
            for name, values in self._values.items()
        }
        with warnings.catch_warnings():
            # The version is pinned, so that an interface that may change does not.
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            sampler = optuna.samplers.TPESampler(seed=seed, multivariate=True, n_startup_trials=0)
        self._study = optuna.create_study(sampler=sampler)
        self._asked: optuna.Trial | None = None
        self._worst = 0.0

    def learn(self, values: Collection[Candidate], cost: float) -> None:
        """A trial that was made already."""
        params = {
            name: next((n for n, each in enumerate(own) if each in values), -1)
            for name, own in self._values.items()
        }
        self._worst = max(self._worst, cost)
        self._study.add_trial(
            self._optuna.trial.create_trial(params=params, distributions=self._space, value=cost)
        )

    def ask(self) -> list[Candidate]:
        """What to try next."""
        self._asked = self._study.ask(self._space)
        chosen = self._asked.params
        return [own[chosen[name]] for name, own in self._values.items() if chosen[name] >= 0]

    def tell(self, cost: float) -> None:
        """What came of it; nan: it failed."""
        assert self._asked is not None
        if not math.isnan(cost):
            self._worst = max(self._worst, cost)
        self._study.tell(self._asked, self._worst + FAILS if math.isnan(cost) else cost)
