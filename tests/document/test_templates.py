# SPDX-License-Identifier: Apache-2.0
"""Words of templates."""

from nearpeak.document.templates import cpus, marked, moment


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
