# SPDX-License-Identifier: Apache-2.0
"""Answers on the terminal: how long they are for their reader."""

import io
import math
import re
from pathlib import Path

from nearpeak.console import PlainConsole
from nearpeak.document.model import Document
from nearpeak.document.terminal import print_document

MOST_LINES, WIDTH = 25, 100
MOST_WORDS = 250


def printed(document: Document, page: Path | None = None, *, verbose: bool = False) -> str:
    """What the terminal has of a document."""
    stream = io.StringIO()
    console = PlainConsole(file=stream, width=WIDTH)
    print_document(document, page, console=console, verbose=verbose)
    return stream.getvalue()


def count_words(text: str) -> int:
    """The words of a text: what has letters, and no figures."""
    return sum(bool(re.search("[A-Za-z]", word)) for word in text.split())


def check_short(document: Document) -> None:
    """Checks that an answer is read in a minute."""
    text = printed(document, Path("page.html"))
    rows = [max(1, math.ceil(len(line) / WIDTH)) for line in text.strip().splitlines()]
    assert sum(rows) <= MOST_LINES, text
    assert count_words(text) <= MOST_WORDS, text
