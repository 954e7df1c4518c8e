# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the command line's tests."""

from commands import begun, command, nearpeak, standins

__all__ = ["begun", "command", "nearpeak", "standins"]
