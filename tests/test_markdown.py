# SPDX-License-Identifier: Apache-2.0
"""Text and tables of Markdown."""

from nearpeak import markdown


def test_no_line_of_a_paragraph_begins_like_an_item() -> None:
    assert markdown.filled("- is standard input") == "\\- is standard input"
    assert markdown.table(("a",), [("b|c",)]) == "| a |\n| --- |\n| b\\|c |\n"
