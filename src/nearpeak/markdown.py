# SPDX-License-Identifier: Apache-2.0
"""Text, tables and code of Markdown."""

import re
import textwrap
from collections.abc import Iterable, Sequence

WIDTH = 110


def filled(text: str) -> str:
    """A paragraph in lines. No line begins like an item of a list."""
    lines = textwrap.fill(
        " ".join(text.split()), WIDTH, break_long_words=False, break_on_hyphens=False
    )
    return re.sub(r"^([-+*#>] )", r"\\\1", lines, flags=re.MULTILINE)


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table. Its cells are Markdown, in which a | is escaped."""
    return "".join(_row(cells) for cells in (header, ["---"] * len(header), *rows))


def _row(cells: Iterable[str]) -> str:
    texts = [" ".join(cell.split()).replace("|", r"\|") for cell in cells]
    return f"| {' | '.join(texts)} |\n"


def code(text: str) -> str:
    """Text as code; "" stays."""
    return f"`{text}`" if text else ""


def codes(texts: Iterable[str]) -> str:
    """Texts as code, with commas between them."""
    return ", ".join(map(code, texts))


def linked(text: str) -> str:
    """Names of pages as links from a page of docs/reference: `docs/methods/ceilings.md`,
    `docs/how-to/study.md#budget`."""
    return re.sub(r"docs/([\w-]+/)?(\w[\w-]*\.md)(#[\w-]+)?", r"[\2](../\1\2\3)", text)
