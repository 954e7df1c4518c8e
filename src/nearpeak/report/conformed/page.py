# SPDX-License-Identifier: Apache-2.0
"""The page of a conformance run: one file that loads nothing and runs no script."""

from pathlib import Path

from nearpeak.conform.conformance import Conformance
from nearpeak.document import templates
from nearpeak.report.conformed import words
from nearpeak.terms.outcomes import GOOD, NOT_TRIED

_HERE = Path(__file__).parent


def render(conformance: Conformance) -> str:
    """Returns the whole page."""
    environment = templates.environment(_HERE)
    environment.globals |= {
        name: getattr(words, name)
        for name in (
            "outcomes_in",
            "worst",
            "cell",
            "listing",
            "case",
            "failures",
            "bad_end",
            "totals",
            "memory_label",
        )
    }
    return environment.get_template("conform.html.j2").render(
        conformance=conformance,
        conclusion=words.conclusion(conformance),
        good=GOOD,
        not_tried=NOT_TRIED,
        css=templates.css(),
    )
