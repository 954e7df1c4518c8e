# SPDX-License-Identifier: Apache-2.0
"""Corrects trials for the distance of the CPUs: brings all to the distance of the first trial.

A hypervisor may move the ranks' CPUs, and messages in host memory then take several times as long.
Most settings have a smaller effect.
"""

import numpy as np

from nearpeak.arrays import Booleans, Floats
from nearpeak.statistics.strata import strata

Key = tuple[tuple[str, str], ...]


class Distances:
    """All trials so far, each with the distance of its CPUs."""

    def __init__(self) -> None:
        self._keys: list[Key] = []
        self._distances: list[float] = []
        self._costs: list[Floats] = []

    def corrected(self, env: dict[str, str], distance_ns: float | None, costs: Floats) -> Floats:
        """Returns the costs (logarithms, by target) at the distance of the first trial. The
        correction comes from variables that were measured at both distances. The costs stay as they
        are if no variables were, or if the distance is unknown."""
        if not distance_ns:
            return costs
        self._keys.append(tuple(sorted(env.items())))
        self._distances.append(distance_ns)
        self._costs.append(costs)
        stratum = strata(self._distances)
        if stratum[-1] == stratum[0]:
            return costs
        effects = [
            np.median(latest, axis=0) - np.median(first, axis=0)
            for key in dict.fromkeys(self._keys)
            if (first := self._costs_of(key, stratum == stratum[0]))
            and (latest := self._costs_of(key, stratum == stratum[-1]))
        ]
        return costs - np.median(effects, axis=0) if effects else costs

    def _costs_of(self, key: Key, chosen: Booleans) -> list[Floats]:
        return [
            costs
            for trial_key, is_chosen, costs in zip(self._keys, chosen, self._costs, strict=True)
            if trial_key == key and is_chosen
        ]
