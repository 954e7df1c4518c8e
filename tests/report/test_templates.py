# SPDX-License-Identifier: Apache-2.0
"""Words of templates."""

from nearpeak.report.templates import marked


def test_code_is_marked_and_all_else_escaped() -> None:
    assert marked("`a < b`, <i> and `") == "<code>a &lt; b</code>, &lt;i&gt; and `"
