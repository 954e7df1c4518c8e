# SPDX-License-Identifier: Apache-2.0
"""Nearpeak in one archive, for a machine that reaches no package index (docs/how-to/bundle.md)."""
