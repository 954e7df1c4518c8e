# SPDX-License-Identifier: Apache-2.0
"""Compares studies with earlier ones: regressions of libraries and of paths."""
