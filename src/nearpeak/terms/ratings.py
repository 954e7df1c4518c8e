# SPDX-License-Identifier: Apache-2.0
"""From which share of its ceiling a library is good or fair; below it is poor."""

GOOD, FAIR = 0.8, 0.5
TIED = "*"  # behind the best library, if others may be as good
TIES = f"{TIED}: others may tie."
