# SPDX-License-Identifier: Apache-2.0
"""A document as a page: one file that loads nothing from elsewhere and runs no script."""

from pathlib import Path

from markupsafe import Markup

from nearpeak.document import templates
from nearpeak.document.model import Document
from nearpeak.files import write_whole


def write_page(document: Document, file: Path) -> None:
    """Writes the page. Raises UserError."""
    write_whole(file, render(document))


def render(document: Document) -> str:
    """Returns the whole page."""
    template = templates.environment().get_template("page.html.j2")
    return template.render(document=document, css=templates.css() + Markup(document.style))
