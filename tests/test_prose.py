# SPDX-License-Identifier: Apache-2.0
"""The check of prose sees what it is for, and nothing else."""

import pytest

import prose

SHORT = "The report prints a table. "


def page(text: str) -> prose.Page:
    """Judges a page that has enough sentences besides, so that its shares say something."""
    return prose.judge(f"{SHORT * 40}\n\n{text}\n")


def test_a_plain_page_has_no_fault() -> None:
    assert page("").faults == []
    assert page("").sentences == 40
    assert page("").words == 200


@pytest.mark.parametrize(
    "text",
    [
        "The launch is told by the study.",
        "It is compared with, and stands beside, another one.",
        "- An item that is held against another.",
    ],
)
def test_a_banned_word_is_a_fault(text: str) -> None:
    [fault] = page(text).faults
    assert fault == f"banned: {text.removeprefix('- ')}"


@pytest.mark.parametrize(
    "text",
    [
        "```console\nIt is told (so) (it) (says).\n```",
        "    nearpeak told (a) (b) (c)",
        "| told | beside (x) |",
        "# What is told (beside)",
        'The report prints "told" as it was.',
        "The command is `nearpeak told (x)`.",
        "See [the page](docs/told.md).",
    ],
)
def test_code_tables_headings_and_quotations_are_no_prose(text: str) -> None:
    assert page(text).faults == []


def test_long_sentences_are_a_fault_where_they_are_many() -> None:
    long = f"The study {'really ' * 30}ends. "
    assert page(long * 4).faults == []
    assert len(page(long * 5).faults) == 5


def test_many_brackets_are_a_fault() -> None:
    assert page("It is (so). " * 1).faults == []
    assert page("It is (so). " * 3).faults == ["3 brackets in 209 words"]


def test_a_sentence_ends_where_the_next_one_begins_and_not_in_a_number() -> None:
    text = "It takes 7.4 us on node1. `CODE` begins the next. (A third one.)"
    assert list(prose.sentences(prose.plain(text))) == [
        "It takes 7.4 us on node1.",
        "CODE begins the next.",
        "(A third one.)",
    ]


def test_pages_that_a_program_makes_are_left_out() -> None:
    names = {str(file.relative_to(prose.ROOT)) for file in prose.pages()}
    assert {"README.md", "CHANGELOG.md"} < names
    assert not {"docs/reference/commands.md", "docs/reference/results.md"} & names
