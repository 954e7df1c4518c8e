# SPDX-License-Identifier: Apache-2.0
"""Tuning: settings that make a library faster for given targets (docs/how-to/tune.md)."""
