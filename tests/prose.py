# SPDX-License-Identifier: Apache-2.0
"""Checks the prose of README and docs: `python tests/prose.py [PAGE...]`, in `make lint`.

Prints each fault, and exits with 1 if there is one; with `--table`, the counts of each page. Code,
tables, headings and quotations are no prose. Pages that a program makes are left out.
"""

import argparse
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
MOST_WORDS = 30  # of a sentence
MOST_LONG = 0.10  # of a page's sentences may be longer
MOST_BRACKETS = 8.0  # for 1,000 words
LEAST_WORDS = 150  # of a page that is judged by its shares: on a shorter one they say nothing
BANNED = re.compile(
    r"\b(told|tells|in turns?|as it is|held against|beside|surely|so many|likewise|all the same|"
    r"makers?'?|mend(s|ed)?|microscope|courier|paces|thereof|whereof)\b",
    re.IGNORECASE,
)
MADE = re.compile(r"Made of the structs by|makes\s+this\s+page")


class Page(NamedTuple):
    """The counts of a page; `banned` are the sentences with words that the guide rules out."""

    words: int
    sentences: int
    long: list[str]
    brackets: int
    banned: list[str]

    @property
    def faults(self) -> list[str]:
        """The faults to correct, one line each."""
        lines = [f"banned: {sentence}" for sentence in self.banned]
        if self.words >= LEAST_WORDS and len(self.long) > MOST_LONG * self.sentences:
            lines += [f"over {MOST_WORDS} words: {sentence}" for sentence in self.long]
        if self.words >= LEAST_WORDS and self.brackets > MOST_BRACKETS * self.words / 1000:
            lines.append(f"{self.brackets} brackets in {self.words} words")
        return lines


def paragraphs(text: str) -> Iterator[str]:
    """Yields the paragraphs and items of lists of a page in Markdown, each on one line."""
    text = re.sub(r"^(```|~~~).*?^\1", "", text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
    lines: list[str] = []
    for line in [*text.splitlines(), ""]:
        code = re.match(r" {4,}\S", line) and not lines
        begins = re.match(r"\s*([-*+]|\d+\.) ", line)
        if not line.strip() or code or begins or re.match(r"[#|>]|\s*<", line):
            if lines:
                yield " ".join(lines)
            lines = [line[begins.end() :].strip()] if begins else []
        else:
            lines.append(line.strip())


def plain(paragraph: str) -> str:
    """The paragraph as a reader sees it: links by their texts, each piece of code as one word."""
    paragraph = re.sub(r"``[^`]+``|`[^`]+`", "CODE", paragraph)
    paragraph = re.sub(r"!?\[([^]]*)\]\([^)]*\)", r"\1", paragraph)
    return re.sub(r"[*_]{1,2}(?=\S)|(?<=\S)[*_]{1,2}", "", paragraph)


def sentences(paragraph: str) -> Iterator[str]:
    """Yields the sentences of a paragraph in plain text."""
    for sentence in re.split(r"(?<=[.!?])\s+(?=[A-Z\"(])", paragraph):
        if sentence.strip():
            yield sentence.strip()


def judge(text: str) -> Page:
    """Counts the words, sentences and faults of a page."""
    prose = [plain(paragraph) for paragraph in paragraphs(text)]
    parts = [sentence for paragraph in prose for sentence in sentences(paragraph)]
    return Page(
        sum(len(sentence.split()) for sentence in parts),
        len(parts),
        [sentence for sentence in parts if len(sentence.split()) > MOST_WORDS],
        sum(sentence.count(" (") for sentence in parts),
        [sentence for sentence in parts if BANNED.search(re.sub(r'"[^"]*"', "", sentence))],
    )


def pages() -> Iterator[Path]:
    """Yields the pages that are written by hand."""
    for pattern in (
        "*.md",
        "docs/**/*.md",
        "examples/*/README.md",
        "packaging/*.md",
        "benchmarks/*.md",
    ):
        for page in sorted(ROOT.glob(pattern)):
            if not MADE.search(page.read_text("utf-8")[:1500]):
                yield page


def row(file: Path, page: Page) -> str:
    """The counts of a page, as a row of a table in Markdown."""
    long = 100 * len(page.long) / max(page.sentences, 1)
    brackets = 1000 * page.brackets / max(page.words, 1)
    return f"| {file} | {page.words} | {long:.1f} % | {brackets:.1f} | {len(page.banned)} |"


def main() -> int:
    """Prints the faults, or the counts, of pages; 1: a page has a fault."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pages", nargs="*", type=Path, help="all pages where none is named")
    parser.add_argument("--table", action="store_true", help="print the counts of each page")
    asked = parser.parse_args()
    faulty = False
    if asked.table:
        print("| Page | Words | Long sentences | Brackets in 1,000 words | Banned words |")
        print("|---|---|---|---|---|")
    for file in asked.pages or pages():
        page = judge(file.read_text("utf-8"))
        name = file.resolve().relative_to(ROOT)
        faulty = faulty or bool(page.faults)
        if asked.table:
            print(row(name, page))
        else:
            print(*(f"{name}: {fault}\n" for fault in page.faults), sep="", end="")
    return int(faulty)


if __name__ == "__main__":
    sys.exit(main())
