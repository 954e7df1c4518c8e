# SPDX-License-Identifier: Apache-2.0
"""Measures where an application's MPI time goes (docs/how-to/trace.md)."""
