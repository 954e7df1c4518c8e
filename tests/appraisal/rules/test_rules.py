# SPDX-License-Identifier: Apache-2.0
"""All rules: their order, and a test of each."""

from pathlib import Path

from nearpeak.appraisal.rules import all_rules


def test_rules_are_in_their_order_and_say_what_they_look_for() -> None:
    orders = [rule.order for rule in all_rules().values()]
    assert orders == sorted(orders)
    assert all(rule.about for rule in all_rules().values())


def test_each_rule_has_its_tests() -> None:
    files = {file.stem for file in Path(__file__).parent.glob("test_*.py")} - {"test_rules"}
    assert files == {f"test_{name}" for name in all_rules()}
