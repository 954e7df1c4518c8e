# SPDX-License-Identifier: Apache-2.0
"""The constants that decide, one for each meaning: how often a verdict may err, and how many
launches each kind of statement takes."""

import math
from fractions import Fraction

ERROR_RATE = 0.05  # of all verdicts of one kind together: that any of them is false
EXACT_ERROR_RATE = Fraction(1, 20)  # the same, for p-values that are fractions of whole numbers
CONFIDENCE = 1 - ERROR_RATE  # of an interval

# Times as long: what a case may take with settings that tune takes, and be called no slower.
TOLERATED = 1.05

# Launches, or blocks, that an interval of their median takes: from the least of n to the greatest,
# it misses the median with a probability of 2 / 2^n. With fewer there is a range.
FEWEST_FOR_INTERVAL = math.ceil(1 - math.log2(ERROR_RATE))
# Blocks that tell one side alone: all n of them lie on it by chance with 1 / 2^n.
FEWEST_FOR_SIGN = math.ceil(-math.log2(ERROR_RATE))
# Blocks that tell how far blocks scatter, where what is said is not an interval of 95 %: a change
# beside their noise, or a finding that is told with its own figures. Three have two deviations.
FEWEST_FOR_SCATTER = 4
