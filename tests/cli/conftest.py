# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the command line's tests."""

from commands import command, nearpeak, standins

__all__ = ["command", "nearpeak", "standins"]
