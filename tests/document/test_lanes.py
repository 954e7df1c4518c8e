# SPDX-License-Identifier: Apache-2.0
"""Names beside what is drawn, over one axis."""

from markupsafe import Markup

from nearpeak.document.lanes import lanes


def test_names_are_escaped_and_what_is_drawn_is_not() -> None:
    drawn = lanes("kind", "<i>", [("<b>", Markup("<svg></svg>"))])
    assert drawn == (
        '<div class="lanes kind" role="img" aria-label="&lt;i&gt;">'
        '<div class="label">&lt;b&gt;</div><div class="lane"><svg></svg></div></div>'
    )


def test_ticks_at_the_ends_stay_within_the_axis() -> None:
    drawn = lanes("", "", [], [(0.0, "0"), (50.0, "1"), (100.0, "2")])
    for tick in (
        "left:0.00%;transform:translateX(-0%)",
        "left:50.00%;transform:translateX(-50%)",
        "left:100.00%;transform:translateX(-100%)",
    ):
        assert tick in drawn
