# SPDX-License-Identifier: Apache-2.0
"""Words of templates."""

from collections.abc import Iterator
from typing import Any

import pytest

from nearpeak.document.model import Terms
from nearpeak.document.templates import cpus, defined, environment, linked, marked, moment


def test_code_is_marked_and_all_else_escaped() -> None:
    assert marked("`a < b`, <i> and `") == "<code>a &lt; b</code>, &lt;i&gt; and `"


def test_cpus_are_told_as_ranges() -> None:
    assert cpus([*range(32), *range(64, 96)]) == "CPUs 0-31,64-95"
    assert cpus([7]) == "CPU 7"
    assert cpus([]) == "no CPUs"


def test_instants_are_told_to_the_minute() -> None:
    assert moment("2026-11-22T13:22:45.271+00:00") == "2026-11-22 13:22 UTC"
    assert moment("2026-11-22T01:22:45+02:00") == "2026-11-21 23:22 UTC"
    assert moment("2026-01-02T03:04:05Z") == "2026-01-02 03:04 UTC"
    assert (moment("2026-01-02"), moment("yesterday")) == ("2026-01-02", "yesterday")


@pytest.fixture
def terms() -> Iterator[dict[str, Any]]:
    made = environment()
    made.globals["terms"] = linked(
        Terms([("ceiling", 'the "best"'), ("good, poor", "a rating"), ("[a, b]", "an interval")])
    )
    yield made.globals
    made.globals["terms"] = {}


@pytest.mark.usefixtures("terms")
def test_the_first_of_each_term_is_a_link_to_its_definition() -> None:
    text = defined(environment(), "Ceilings: near the ceiling is <good>; `good` is poor.")
    assert text == (
        '<a class="term" href="#term-ceiling" data-meaning="the &#34;best&#34;">Ceilings</a>:'
        ' near the ceiling is &lt;<a class="term" href="#term-good-poor"'
        ' data-meaning="a rating">good</a>&gt;; <code>good</code> is'
        ' <a class="term" href="#term-good-poor" data-meaning="a rating">poor</a>.'
    )


def test_without_a_glossary_there_are_no_links() -> None:
    assert defined(environment(), "the `ceiling`") == "the <code>ceiling</code>"
