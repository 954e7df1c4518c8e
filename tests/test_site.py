# SPDX-License-Identifier: Apache-2.0
"""The site of the documentation: each page has its place in it."""

import re
import sys

assemble = sys.modules["site_assemble"]  # loaded by tests/conftest.py
MADE = {"machines/README.md"}  # by assemble.py itself


def test_the_navigation_has_every_page_once() -> None:
    pages = {str(page.relative_to(assemble.ROOT)) for page in assemble.pages()}
    config = (assemble.ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    named = re.findall(r": ([\w./-]+\.md)$", config, re.MULTILINE)
    assert sorted(named) == sorted(pages | MADE)
