# SPDX-License-Identifier: Apache-2.0
"""Effects of each value in the search, by all of its launches."""

from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np

from nearpeak.arrays import Floats
from nearpeak.tune.candidates import Candidate
from nearpeak.tune.estimate import effects_of
from nearpeak.tune.journal import Trial
from nearpeak.tune.targets import cost
from nearpeak.tune.tuned import Tried


def tried(
    trials: Sequence[Trial],
    values: Iterable[Mapping[str, str]],
    named: Collection[tuple[str, str]] = (),
) -> list[Tried]:
    """Returns the values, each a few variables, that a launch had, in their order. `named`: the
    variables with values that were tried first.

    Most launches have many values at once. The effect of a value therefore comes from the search's
    own regression over all launches (`estimate.effects_of`), which shrinks the effects of rarely
    tried values towards nothing.
    """
    given = [env for env in values if _having(trials, env)]
    worked = [trial for trial in trials if trial.values]
    failed = {frozenset(trial.env.items()): trial.failed for trial in trials if trial.failed}
    rows = np.array([[float(_has(trial, env)) for env in given] for trial in worked])
    times = np.zeros((len(given), 0))
    if worked and given:
        costs = [list(map(cost, trial.values, trial.better)) for trial in worked]
        times = np.exp(effects_of(rows, np.array(costs)))
    return [
        Tried(
            setting=Candidate(tuple(env.items())).label,
            launches=_having(trials, env),
            times=_rounded(speedups) if _having(worked, env) else [],
            failed=failed.get(frozenset(env.items()), ""),
            named=list(env.items())[-1] in named,
        )
        for env, speedups in zip(given, times, strict=True)
    ]


def _rounded(speedups: Floats) -> list[float]:
    return [round(float(speedup), 3) for speedup in speedups]


def _having(trials: Sequence[Trial], env: Mapping[str, str]) -> int:
    return sum(_has(trial, env) for trial in trials)


def _has(trial: Trial, env: Mapping[str, str]) -> bool:
    return env.items() <= trial.env.items()
