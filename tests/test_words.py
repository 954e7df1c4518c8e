# SPDX-License-Identifier: Apache-2.0
"""Names have a noun for their content, and docstrings say what a thing is or does."""

import ast
from pathlib import Path

from house_words import COMPREHENSIONS, PACKAGE, bound, counted, docstrings, nested

COUNTS = counted(sorted(PACKAGE.rglob("*.py")))


def test_no_variable_and_no_function_has_a_banned_name() -> None:
    assert [str(place) for place in COUNTS.banned] == []


def test_few_names_are_vague() -> None:
    assert len(COUNTS.vague) < 0.005 * COUNTS.names, [str(place) for place in COUNTS.vague]


def test_docstrings_begin_with_a_verb_or_a_noun() -> None:
    assert [str(place) for place in COUNTS.beginnings] == []


def test_hardly_any_comprehension_holds_another() -> None:
    assert COUNTS.nested < COUNTS.lines / 1000


SOURCE = '''
class Point:
    """Of a curve."""

    found: int  # a field, which files hold by this name

    def own(self, each):
        known = [[a for a in b] for b in each]
        return known
'''


def test_what_is_counted(tmp_path: Path) -> None:
    tree = ast.parse(SOURCE)
    assert [name for name, _ in bound(tree)] == ["Point", "own", "self", "each", "known", "b", "a"]
    assert list(docstrings(tree)) == [("Of a curve.", 2)]
    assert nested(tree) == 1
    assert ast.ListComp in COMPREHENSIONS
    (tmp_path / "a.py").write_text(SOURCE)
    counts = counted([tmp_path / "a.py"])
    assert [place.text for place in counts.banned] == ["own", "each", "known"]
    assert [place.line for place in counts.beginnings] == [2]
