# SPDX-License-Identifier: Apache-2.0
"""The page of an explanation: one file that loads nothing and runs no script."""

from collections.abc import Sequence
from pathlib import Path

from markupsafe import Markup

from nearpeak.observations.explained import Explanation
from nearpeak.report import templates
from nearpeak.report.explained import words
from nearpeak.report.explained.lanes import lanes

_HERE = Path(__file__).parent


def sections(explanations: Sequence[Explanation]) -> list[tuple[str, Markup]]:
    """Those of a study for its page: who on which path, and what was seen."""
    template = templates.environment(_HERE).get_template("cases.html.j2")
    return [
        (
            f"{words.library(found)}, {found.path}",
            Markup(
                template.render(
                    found=found, words=words, lanes=lanes, prefix=f"explained-{n}", heading="h3"
                )
            ),
        )
        for n, found in enumerate(explanations, 1)
    ]


def render(found: Explanation) -> str:
    """The page, whole."""
    environment = templates.environment(_HERE)
    return environment.get_template("explain.html.j2").render(
        found=found, words=words, lanes=lanes, css=templates.css()
    )
