# SPDX-License-Identifier: Apache-2.0
"""The page of all pairs of nodes: one file that loads nothing and runs no script."""

from pathlib import Path

from markupsafe import Markup

from nearpeak.nodes.found import Found, Map
from nearpeak.report import templates
from nearpeak.report.nodes import map as maps
from nearpeak.report.nodes import words

_HERE = Path(__file__).parent
LISTED = 2000  # verdicts; nodes.json has all


def render(found: Found) -> str:
    """The page, whole."""

    def drawn(each: Map) -> Markup:
        return Markup(maps.draw(each, found.nodes))  # its words are escaped as it is made

    environment = templates.environment(_HERE)
    environment.globals |= {
        name: getattr(words, name)
        for name in (
            "name",
            "subject",
            "interval",
            "alone",
            "covered",
            "tests",
            "usual",
            "mode",
            "required",
        )
    }
    return environment.get_template("nodes.html.j2").render(
        found=found,
        has_alone=words.has_alone(found),
        conclusion=words.conclusion(found),
        listed=found.verdicts[:LISTED],
        drawn=drawn,
        legend=maps.legend(),
        missing=any(map(maps.lacks, found.maps)),
        css=templates.css(),
    )
