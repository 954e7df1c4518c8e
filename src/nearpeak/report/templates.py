# SPDX-License-Identifier: Apache-2.0
"""How the templates of pages are read: all text escaped, figures in one way."""

from pathlib import Path

import jinja2

from nearpeak import numbers


def environment(folder: Path) -> jinja2.Environment:
    """For the templates in a folder; a name that nobody gave is an error."""
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(folder),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "number": numbers.number,
        "percent": numbers.percent,
        "size": numbers.size,
        "extent": numbers.extent,
        "count": numbers.count,
        "unit": numbers.unit,
        "probability": numbers.probability,
    }
    return made
