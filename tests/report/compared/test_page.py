# SPDX-License-Identifier: Apache-2.0
"""The page of a comparison: whole, escaped, and without scripts."""

from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

from markupsafe import escape

from nearpeak.compare.build import compare
from nearpeak.compare.load import load_side
from nearpeak.report.compared.page import draw, render
from nearpeak.report.compared.words import DISTANCES

MakeSides = Callable[..., Path]
NASTY = "<script>alert(1)</script>"


class Tags(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, _attrs: object) -> None:
        self.seen.append(tag)
        if tag not in ("meta", "link", "line", "circle"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in ("line", "circle"):
            assert self.open.pop() == tag


def test_every_name_is_escaped_and_no_script_runs(make_sides: MakeSides) -> None:
    libraries = ("alpha", NASTY)
    old = load_side([make_sides("old", libraries=libraries)])
    new = make_sides("new", day=2, libraries=libraries, crashed=(NASTY,), nvidia=NASTY)
    compared = compare(old, load_side([new]), 0.05)
    compared.sessions[0].folder = NASTY
    text = render(compared)
    tags = Tags(text)
    assert tags.open == []
    assert "script" not in tags.seen
    assert "default-src 'none'" in text
    assert text.count("&lt;script&gt;alert(1)") >= 4
    assert "What differs between both sides" in text
    assert "driver nvidia: none -&gt; &lt;script" in text
    assert (
        text.index("driver nvidia")
        < text.index("Regressed:")
        < text.index("host-host same-numa</h2>")
    )


def test_what_is_missing_is_listed(make_sides: MakeSides) -> None:
    old = load_side([make_sides("old", libraries=("alpha", NASTY))])
    new = load_side([make_sides("new", day=2)])
    for allowed, said in ((False, "Not measured now:"), (True, "Not measured now, which is")):
        text = render(compare(old, new, 0.05, allow_missing=allowed))
        assert f"<b>{said}" in text
        assert "<li>library &lt;script&gt;alert(1)" in text


def test_what_one_session_cannot_tell_is_said_once(make_sides: MakeSides) -> None:
    old = load_side([make_sides("old")])
    text = render(compare(old, load_side([make_sides("new", day=2)]), 0.05))
    assert text.count("<b>Nothing can be judged: with one session on each side") == 1
    assert 'class="muted">undecided</td>' in text  # in each line: a blank is no answer


def test_other_distances_of_cpus_are_told(make_sides: MakeSides) -> None:
    old = load_side([make_sides("old", far=[0])])
    new = load_side([make_sides("new", day=2, far=[0, 1, 2, 3])])
    text = render(compare(old, new, 0.05))
    assert "now mostly at another distance on host-host same-numa (see below)" in text
    assert str(escape(DISTANCES)) in text
    assert "<li>ceiling on host-host same-numa: 60.0 ns (30 before, 12 now), 300 ns (6 be" in text
    none = load_side([make_sides(f"near{day}", day=day) for day in (4, 5)])
    assert "How far apart the CPUs were" not in render(compare(none[:1], none[1:], 0.05))


def test_inherited_variables_are_named_where_something_is_slower(make_sides: MakeSides) -> None:
    old = load_side([make_sides(f"old{day}", day=day) for day in (1, 2, 3)])
    made = [
        make_sides(f"new{day}", day=day, factor=0.8, variables={"UCX_TLS": "tcp"})
        for day in (4, 5, 6)
    ]
    text = render(compare(old, load_side(made), 0.05))
    assert "<li>variable UCX_TLS: none -&gt; tcp</li>" in text
    assert "<b>Possible reasons of what is slower:</b>" in text
    assert "<br><small>slower at 1 KiB (" in text
    assert "inherited other variables: UCX_TLS: none -&gt; tcp</li>" in text


def test_a_history_has_a_dot_for_each_session(make_sides: MakeSides) -> None:
    old = load_side([make_sides(f"old{day}", day=day) for day in (1, 2)])
    compared = compare(old, load_side([make_sides("new", day=3, factor=0.5)]), 0.05)
    change = compared.libraries[0].change
    drawn = draw(change.history, compared)
    assert drawn.count('class="old"') == 2
    assert drawn.count('class="new"') == 1
    assert draw([1.0, None, 0.5], compared).count("<circle") == 2
    assert "–" in draw([1.0, None, 0.5], compared)
