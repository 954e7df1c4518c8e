# SPDX-License-Identifier: Apache-2.0
"""Where an application's MPI time goes (docs/trace.md)."""
