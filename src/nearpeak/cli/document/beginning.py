# SPDX-License-Identifier: Apache-2.0
"""The beginning of each page."""

from nearpeak.markdown import filled


def first(title: str, name: str, text: str) -> str:
    """The beginning of a page: its title, its content, and the command that makes it."""
    made = f"`python -m nearpeak.cli.document {name} > docs/reference/{name}.md` makes this page."
    return f"# {title}\n\n{filled(f'{text} {made}')}\n"
