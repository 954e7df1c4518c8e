# SPDX-License-Identifier: Apache-2.0
"""Asks other programs what may have no answer."""

import subprocess
from collections.abc import Mapping, Sequence


def answer_of(
    command: Sequence[str], limit_seconds: float, env: Mapping[str, str] | None = None
) -> str:
    """The output of a command; "" where it is missing, fails, or takes longer than the limit."""
    try:
        done = subprocess.run(
            command,
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=limit_seconds,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout
