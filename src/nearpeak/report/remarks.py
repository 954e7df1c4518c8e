# SPDX-License-Identifier: Apache-2.0
"""Remarks on figures that several tables of a study have."""

# Printed with each percentage that stands next to the two figures of its ratio.
PAIRED = (
    "Each percentage is the median of the ratios within single blocks, of those in which both had"
    " their CPUs as far apart, so it may differ from the ratio of the two figures."
)
BY_TRIALS = "by short trials"  # of a host-driven ceiling
NO_COMMON_BLOCK = "no common block"  # instead of a percentage: a notice gives the reason
