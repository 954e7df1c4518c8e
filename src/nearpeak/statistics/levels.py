# SPDX-License-Identifier: Apache-2.0
"""Error rates of verdicts, and the launches that each kind of statement takes."""

import math
from fractions import Fraction

ERROR_RATE = 0.05  # that any of all verdicts of one kind is false
EXACT_ERROR_RATE = Fraction(1, 20)  # the same, for p-values that are fractions of whole numbers
CONFIDENCE = 1 - ERROR_RATE  # of an interval

# A case may take this many times as long with tuned settings and is still called no slower.
TOLERATED = 1.05

# Launches, or blocks, that an interval of their median takes: from the least of n to the greatest,
# it misses the median with a probability of 2 / 2^n. With fewer, a range is given instead.
FEWEST_FOR_INTERVAL = math.ceil(1 - math.log2(ERROR_RATE))
# Blocks that all have to lie on one side: n of them do by chance with 1 / 2^n.
FEWEST_FOR_SIGN = math.ceil(-math.log2(ERROR_RATE))
# Blocks from which their scatter is estimated, for statements without a 95 % interval: a change
# compared with their noise, or a finding with its own figures. Three have two deviations.
FEWEST_FOR_SCATTER = 4
