# SPDX-License-Identifier: Apache-2.0
"""Conformance: which operations of which libraries are broken on which memory (docs/conform.md)."""
