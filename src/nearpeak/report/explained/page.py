# SPDX-License-Identifier: Apache-2.0
"""The page of an explanation: one file that loads nothing and runs no script."""

from collections.abc import Sequence
from pathlib import Path

from markupsafe import Markup

from nearpeak.document import templates
from nearpeak.observations.explained import Explanation
from nearpeak.report.explained import words
from nearpeak.report.explained.lanes import lanes

_HERE = Path(__file__).parent


def sections(explanations: Sequence[Explanation]) -> list[tuple[str, Markup]]:
    """The explanations of a study for its page: a title and the section below it."""
    template = templates.environment(_HERE).get_template("cases.html.j2")
    return [
        (
            f"{words.library(explanation)}, {explanation.path}",
            Markup(
                template.render(
                    explanation=explanation,
                    words=words,
                    lanes=lanes,
                    prefix=f"explained-{n}",
                    heading="h3",
                )
            ),
        )
        for n, explanation in enumerate(explanations, 1)
    ]


def render(explanation: Explanation) -> str:
    """Returns the whole page."""
    environment = templates.environment(_HERE)
    return environment.get_template("explain.html.j2").render(
        explanation=explanation, words=words, lanes=lanes, css=templates.css()
    )
