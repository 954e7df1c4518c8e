# SPDX-License-Identifier: Apache-2.0
"""The page of all pairs of nodes: one file that loads nothing and runs no script."""

from pathlib import Path

from markupsafe import Markup

from nearpeak.document import templates
from nearpeak.nodes.found import Found, Map
from nearpeak.report.nodes import map as maps
from nearpeak.report.nodes import words

_HERE = Path(__file__).parent
LISTED = 2000  # verdicts; nodes.json has all


def render(results: Found) -> str:
    """Returns the whole page."""

    def drawn(node_map: Map) -> Markup:
        return Markup(maps.draw(node_map, results.nodes))  # already escaped

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
        results=results,
        has_alone=words.has_alone(results),
        conclusion=words.conclusion(results),
        listed=results.verdicts[:LISTED],
        drawn=drawn,
        legend=maps.legend(),
        missing=any(map(maps.has_gaps, results.maps)),
        css=templates.css(),
    )
