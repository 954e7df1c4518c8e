# SPDX-License-Identifier: Apache-2.0
"""Judges any number of studies over time: since when is something slower, and what changed then."""
