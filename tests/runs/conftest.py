# SPDX-License-Identifier: Apache-2.0
"""Fixtures of tests of runs, as commands make them."""

from commands import begun, command, nearpeak, standins

__all__ = ["begun", "command", "nearpeak", "standins"]
