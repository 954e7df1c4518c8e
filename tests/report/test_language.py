# SPDX-License-Identifier: Apache-2.0
"""What a reader sees first is plain English: short sentences, and no word of our own making."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from answers import check_short, count_words
from nearpeak.document.markdown import render
from nearpeak.document.model import Document, Section
from nearpeak.findings.rules import all_rules
from nearpeak.report.digest import actions, answer, digest, legend
from nearpeak.results.build import from_json

EXAMPLES = Path(__file__).parents[2] / "examples"
LONGEST = 30  # words of a sentence
MOST_ABOVE = 200  # on the page, above the first chart but for the picture
# Words that stand for nothing in the field, and beginnings that turn a sentence round.
OURS = re.compile(
    r"\b(told|microscope|courier|mover|envelope|seat|mend|paces|in turns|held against|beside|"
    r"thereof|whereof)\b",
    re.IGNORECASE,
)
TURNED = re.compile(r"^(Looked at|Told|Shown|Measured|Named|Seen) (is|are)\b")
RECORDINGS = sorted(EXAMPLES.glob("*/results.json")) + sorted(EXAMPLES.glob("*/*/results.json"))


def sentences(text: str) -> Iterator[str]:
    """Yields the sentences of a text; a line of a table is none."""
    for line in text.splitlines():
        if not line.startswith("|"):
            yield from re.split(r"(?<=[.!?])\s+(?=[A-Z])", re.sub(r"`[^`]*`", "COMMAND", line))


def faults(text: str) -> Iterator[str]:
    """Yields the sentences that are too long, or not plain."""
    for sentence in sentences(text):
        plain = re.sub(r"[*_\\]", "", sentence).strip()
        # A list of paths with their figures is as long as it is.
        words = re.sub(r"[\d.]+ (%|of|GB/s)[^;,)]*(\([^)]*\))?", "", plain).split()
        if len(words) > LONGEST or OURS.search(plain) or TURNED.match(plain):
            yield plain


def test_faults_are_seen() -> None:
    assert list(faults("Looked at are the messages. It is fine.")) == [
        "Looked at are the messages."
    ]
    assert list(faults("The courier moves it.")) == ["The courier moves it."]
    assert list(faults(f"{'word ' * 31}.")) != []
    assert list(faults("`a courier`\n| told |\nThe best library is fast.")) == []


@pytest.mark.parametrize("file", RECORDINGS, ids=lambda file: file.parent.name)
def test_the_answer_of_a_recording_is_plain(file: Path) -> None:
    assert list(faults(render(digest(from_json(file.read_bytes()))))) == []


@pytest.mark.parametrize("file", RECORDINGS, ids=lambda file: file.parent.name)
def test_the_answer_is_read_in_a_minute(file: Path) -> None:
    results = from_json(file.read_bytes())
    check_short(digest(results))
    blocks = [*answer(results, Path()), *legend(results), *actions(results, Path())]
    above = render(Document("", "", [], [Section("", blocks)]))
    assert count_words(above) <= MOST_ABOVE


def test_what_rules_advise_is_plain() -> None:
    texts = [text for rule in all_rules() for text in (rule.action, rule.headline)]
    assert [fault for text in texts for fault in faults(text)] == []
