# SPDX-License-Identifier: Apache-2.0
"""docs/reference/rules.md is made of the rules."""

from pathlib import Path

from nearpeak.findings.document import document
from nearpeak.findings.rules import all_rules

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "rules.md"


def test_the_page_is_of_today() -> None:
    made = "python -m nearpeak.findings.document > docs/reference/rules.md"
    assert PAGE.read_text(encoding="utf-8") == document(), made


def test_every_rule_says_what_it_tells_and_where_that_is_described() -> None:
    for rule in all_rules():
        assert rule.tells.endswith("."), rule.name
        assert rule.sources, rule.name
        for reference in rule.sources:
            assert reference.source.text, rule.name
            assert reference.source.address.startswith("https://"), rule.name
