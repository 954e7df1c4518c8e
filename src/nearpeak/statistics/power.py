# SPDX-License-Identifier: Apache-2.0
"""The smallest loss that the verdicts of a study would find, given the scatter of its launches.

The answer comes from the test itself. A loss is planted in the log ratios that were measured, each
size centred first, and `verdicts.judge` judges them again: blocks, sizes, their dependence and the
number of questions count as in the verdicts. So the answer needs no distribution of the scatter and
no random draws.

With a probability of 80 % the mean of n blocks lies no more than 0.84 of its standard errors on the
lucky side of the loss (the normal quantile of Cohen, Statistical Power Analysis for the Behavioral
Sciences (1988), 2.1): so each size is planted with a mean that is smaller by as much. A size whose
verdict is "slower" then has that power or more. The scatter of a few blocks is itself uncertain.
"""

import math
from collections.abc import Sequence

import numpy as np
import scipy

from nearpeak.arrays import Floats
from nearpeak.statistics.verdicts import SLOWER, Curve, judge

POWER = 0.8
MOST = 10.0  # times as long: larger losses are not tried
STEP = 0.005  # of a logarithm: the precision of the answer


def detectable_loss(family: Sequence[Curve], pairs: int, allowed: float) -> float | None:
    """The smallest relative loss that half of all sizes or more show with a probability of `POWER`.

    0.1 means that everything takes 1.1 times as long. `family`: all curves of two alternatives;
    `pairs`: the number of pairs of alternatives that are judged together; `allowed`: a size is
    called slower only with a median ratio below it. None where not even `MOST` times as long would
    be found: blocks are too few.
    """
    if not family or not pairs:
        return None
    planted = [(curve, *_centred(curve.log_ratios)) for curve in family]

    def is_found(loss: float) -> bool:
        moved = [
            curve._replace(log_ratios=rows - np.maximum(loss - unlucky, 0.0)[:, None])
            for curve, rows, unlucky in planted
        ]
        sizes = [size for judged in judge([moved] * pairs)[0] for size in judged.sizes]
        detected = [size.verdict == SLOWER and size.comparison.ratio < allowed for size in sizes]
        return 2 * sum(detected) >= len(detected)

    low, high = 0.0, math.log(MOST)
    if not is_found(high):
        return None
    while high - low > STEP:
        middle = (low + high) / 2
        low, high = (low, middle) if is_found(middle) else (middle, high)
    return math.expm1(high)


def _centred(rows: Floats) -> tuple[Floats, Floats]:
    """Each size without its mean, and the error that its mean exceeds in 1 - `POWER` of cases."""
    blocks = np.count_nonzero(~np.isnan(rows), axis=1)
    centred = rows - np.nanmean(rows, axis=1, keepdims=True)
    variances = np.nansum(centred**2, axis=1) / np.maximum(blocks - 1, 1)
    quantile = float(scipy.special.ndtri(POWER))
    return centred, quantile * np.sqrt(variances / blocks)
