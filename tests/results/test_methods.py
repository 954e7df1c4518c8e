# SPDX-License-Identifier: Apache-2.0
"""Words for the methods of ceilings."""

import re
from pathlib import Path

import pytest

from nearpeak.results.methods import WORDS, describe

PAGE = Path(__file__).parents[2] / "docs" / "methods" / "ceilings.md"


def test_every_method_that_the_page_describes_has_words() -> None:
    described = set()
    for table in re.findall(r"^\| Method \|.*\n\|---.*\n((?:\|.*\n)+)", PAGE.read_text(), re.M):
        for row in table.splitlines():
            described |= set(re.findall(r"`([^`]+)`", row.split("|")[1]))
    assert described == set(WORDS)


@pytest.mark.parametrize(
    ("method", "said"),
    [
        ("cma", "one copy by the kernel (cma)"),
        ("batched", "handing all messages of a window to the kernel together (batched)"),
        ("nt4 x2", "non-temporal stores, four pieces at once, by 2 threads (nt4 x2)"),
        ("plain x1", "plain stores by 1 thread (plain x1)"),
        ("another", "another"),
    ],
)
def test_they_stand_in_a_sentence_with_the_name(method: str, said: str) -> None:
    assert describe(method) == said
