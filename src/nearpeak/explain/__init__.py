# SPDX-License-Identifier: Apache-2.0
"""Traces the work of a library for one message (docs/how-to/explain.md)."""
