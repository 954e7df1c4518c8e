# SPDX-License-Identifier: Apache-2.0
"""Words of templates."""

from nearpeak.report.templates import cpus, marked


def test_code_is_marked_and_all_else_escaped() -> None:
    assert marked("`a < b`, <i> and `") == "<code>a &lt; b</code>, &lt;i&gt; and `"


def test_cpus_are_told_as_ranges() -> None:
    assert cpus([*range(32), *range(64, 96)]) == "CPUs 0-31,64-95"
    assert cpus([7]) == "CPU 7"
    assert cpus([]) == "no CPUs"
