# SPDX-License-Identifier: Apache-2.0
"""The picture of the machine on the page of a study."""

from nearpeak.report.picture.canvas import NARROW, WIDE
from nearpeak.report.picture.layout import layout
from nearpeak.report.picture.links import measured
from nearpeak.report.picture.svg import inline
from nearpeak.results.model import Results


def picture(results: Results) -> str:
    """Two drawings, of which report.css shows the one that fits the window."""
    rows = measured(results)
    return "".join(
        inline(layout(results.machine, rows, width), name)
        for name, width in (("wide", WIDE), ("narrow", NARROW))
    )
