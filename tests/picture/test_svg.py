# SPDX-License-Identifier: Apache-2.0
"""The drawing as SVG: well formed, safe, and told apart in grey."""

import re
from collections.abc import Callable
from xml.etree import ElementTree

import msgspec
import pytest

from nearpeak.machine.machine import Machine, Nic
from nearpeak.picture import svg
from nearpeak.picture.layout import layout
from nearpeak.picture.measured import Measured
from nearpeak.picture.svg import inline, standalone

Recorded = Callable[[str], Machine]
MadeUp = Callable[[Machine], list[Measured]]
SVG = "{http://www.w3.org/2000/svg}"
BAD = "<script>alert(1)</script>\x1b[31m"


def test_every_machine_is_well_formed(machine: Machine, made_up: MadeUp) -> None:
    root = ElementTree.fromstring(standalone(layout(machine, made_up(machine))))
    assert root.tag == f"{SVG}svg"
    assert root.get("role") == "img"
    named = root.get("aria-labelledby", "").split()
    assert [node.get("id") for node in root[:2]] == named
    assert "GB/s" in (root[1].text or "")


def test_a_file_of_its_own_has_its_colours(recorded: Recorded) -> None:
    text = standalone(layout(recorded("h200x2")))
    assert "var(" not in text
    assert "#1c1d1f" in text  # of the light scheme
    assert "http" not in text.replace("http://www.w3.org/2000/svg", "")


def test_names_stay_text(recorded: Recorded, made_up: MadeUp) -> None:
    base = recorded("h200x2")
    nic = Nic(name=BAD, kind=BAD, numa_node=0, rate_gbs=None, addresses=[])
    gpus = [msgspec.structs.replace(gpu, name=BAD) for gpu in base.gpus]
    machine = msgspec.structs.replace(base, cpu_model=BAD, nics=[nic], gpus=gpus)
    text = inline(layout(machine, made_up(machine)), "wide")
    assert "<script" not in text
    assert "\x1b" not in text
    ElementTree.fromstring(text)


def test_states_differ_in_more_than_colour(recorded: Recorded, made_up: MadeUp) -> None:
    machine = recorded("dgx-h100")
    root = ElementTree.fromstring(inline(layout(machine, made_up(machine)), "wide"))
    fills = {node.get("fill") for node in root.iter("path") if "link" not in node.get("class", "")}
    assert fills == {None, "url(#wide-half)", "url(#wide-far)"}
    patterns = list(root.iter("pattern"))
    turns = {(node.get("patternTransform"), node[1].get("stroke-width")) for node in patterns}
    assert len(turns) == len(patterns) == 2


def luminance(colour: tuple[float, ...]) -> float:
    """Relative luminance as WCAG 2.2 defines it, of red, green and blue from 0 to 1."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in colour]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: tuple[float, ...], other: tuple[float, ...]) -> float:
    """WCAG's ratio, from 1 to 21."""
    lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def over(tint: tuple[float, ...], ground: tuple[float, ...], opacity: float) -> tuple[float, ...]:
    return tuple(opacity * a + (1 - opacity) * b for a, b in zip(tint, ground, strict=True))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_is_readable_on_its_ground(scheme: str) -> None:
    """At least 4.5 to 1, as WCAG asks of small text: enough in grey too, being of luminance."""
    light, dark = re.findall(r":root[^{]*\{([^}]*--bg:[^}]*)\}", svg.palette())
    palette = {
        name: tuple(int(digits[at : at + 2], 16) / 255 for at in (0, 2, 4))
        for name, digits in re.findall(
            r"--([\w-]+):\s*#([0-9a-f]{6})", light if scheme == "light" else dark
        )
    }
    grounds = [palette[name] for name in ("bg", "raised", "sunken", "hair", "gpu", "nic")]
    for ground in grounds:
        assert contrast(palette["fg"], ground) >= 4.5
        assert contrast(palette["muted"], ground) >= 4.5
    for state in ("good", "note", "bad"):
        assert contrast(palette["fg"], over(palette[state], palette["raised"], 0.36)) >= 4.5
        assert contrast(palette[state], palette["bg"]) >= 3  # of a link
