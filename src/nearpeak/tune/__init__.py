# SPDX-License-Identifier: Apache-2.0
"""Tuning: which settings make a library faster where it is asked for (docs/tuning.md)."""
