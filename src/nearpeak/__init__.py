# SPDX-License-Identifier: Apache-2.0
"""Nearpeak: how near to the peak does a machine's GPU-aware MPI run, and where does it lose?"""

__version__ = "0.1.0"
