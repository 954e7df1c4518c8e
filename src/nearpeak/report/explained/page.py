# SPDX-License-Identifier: Apache-2.0
"""The page of an explanation: one file that loads nothing and runs no script."""

from pathlib import Path

from nearpeak.explain.explanation import Explanation
from nearpeak.report import templates
from nearpeak.report.explained import words
from nearpeak.report.explained.lanes import lanes

_HERE = Path(__file__).parent


def render(found: Explanation) -> str:
    """The page, whole."""
    environment = templates.environment(_HERE)
    return environment.get_template("explain.html.j2").render(
        found=found, words=words, lanes=lanes, css=templates.css()
    )
