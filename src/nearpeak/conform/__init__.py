# SPDX-License-Identifier: Apache-2.0
"""Conformance: broken operations of libraries, by memory (docs/how-to/conform.md)."""
