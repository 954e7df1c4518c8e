# SPDX-License-Identifier: Apache-2.0
"""The drawing of a machine as SVG: inside a page, or as a file of its own."""

import re
from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from nearpeak.numbers import printable
from nearpeak.picture.shapes import PILL, SIZE, Box, Line, Picture, Pill, Text

_HERE = Path(__file__).parent
_ROUND = {"socket": 6.0, "adapter": 9.0, "fabric": 4.0, "host": 9.0, "gpu": 3.0, "node": 2.0}
EDGE, MARGIN = 1.0, 8.0  # around the drawing in a page, for its outlines; and in a file
_HATCHES = {"half": ("45", "5", "2.6"), "far": ("135", "5", "1")}  # turn, distance, width


def inline(picture: Picture, name: str) -> str:
    """The drawing for a page with `palette` and `css`; `name`, unique in the page, is its class."""
    root = _root(picture, name, EDGE)
    root.set("class", f"picture {name}")
    return ElementTree.tostring(root, encoding="unicode")


def standalone(picture: Picture) -> str:
    """The drawing as a file: with its colours, which are the page's light ones, on their ground."""
    root = _root(picture, "picture", MARGIN)
    root.set("xmlns", "http://www.w3.org/2000/svg")
    root.set("width", _n(picture.width + 2 * MARGIN))
    root.set("height", _n(picture.height + 2 * MARGIN))
    root.set("class", "picture")
    ground = Element("rect", {"class": "ground", "x": _n(-MARGIN), "y": _n(-MARGIN)})
    ground.set("width", "100%")
    ground.set("height", "100%")
    style = Element("style")
    style.text = _style()
    root.insert(2, style)
    root.insert(3, ground)
    return ElementTree.tostring(root, encoding="unicode") + "\n"


def _style() -> str:
    """picture.css with the light palette put in: few programs know variables."""
    light = palette().partition("}")[0]
    values = dict(re.findall(r"(--[\w-]+):\s*([^;]+);", light))
    rules = css()
    return re.sub(r"var\((--[\w-]+)\)", lambda match: " ".join(values[match[1]].split()), rules)


def palette() -> str:
    """The colours and fonts of drawings and pages, light and dark, as variables."""
    return (_HERE / "palette.css").read_text(encoding="utf-8")


def css() -> str:
    """The styles of the parts, in the variables of the palette."""
    return (_HERE / "picture.css").read_text(encoding="utf-8")


def _root(picture: Picture, name: str, margin: float) -> Element:
    frame = (-margin, -margin, picture.width + 2 * margin, picture.height + 2 * margin)
    root = Element("svg", {"viewBox": " ".join(map(_n, frame)), "role": "img"})
    root.set("aria-labelledby", f"{name}-title {name}-desc")
    for kind, content in (("title", picture.title), ("desc", picture.description)):
        node = SubElement(root, kind, {"id": f"{name}-{kind}"})
        node.text = _plain(content)
    _patterns(SubElement(root, "defs"), name)
    frames = [box for box in picture.boxes if box.kind == "socket"]
    for box in frames:
        _box(root, box)
    for line in sorted(picture.lines, key=lambda line: line.state != "plain"):
        _line(root, line)
    for box in picture.boxes:
        if box.kind != "socket":
            _box(root, box)
    for text in picture.texts:
        _text(root, text)
    for pill in picture.pills:
        _pill(root, pill, name)
    return root


def _patterns(defs: Element, name: str) -> None:
    """Hatches, by which the states differ in grey too; each drawing of a page has its own."""
    for state, (turn, distance, width) in _HATCHES.items():
        pattern = SubElement(
            defs,
            "pattern",
            {
                "id": f"{name}-{state}",
                "width": distance,
                "height": distance,
                "patternUnits": "userSpaceOnUse",
                "patternTransform": f"rotate({turn})",
            },
        )
        SubElement(
            pattern, "rect", {"class": f"tint {state}", "width": distance, "height": distance}
        )
        half = _n(float(distance) / 2)
        SubElement(
            pattern,
            "line",
            {"class": f"hatch {state}", "x1": half, "x2": half, "y1": "0", "y2": distance,
             "stroke-width": width},
        )  # fmt: skip


def _box(root: Element, box: Box) -> None:
    node = SubElement(
        root,
        "rect",
        {
            "class": box.kind,
            "data-name": printable(box.name),
            "x": _n(box.x),
            "y": _n(box.y),
            "width": _n(box.width),
            "height": _n(box.height),
            "rx": _n(_ROUND.get(box.kind, 0.0)),
        },
    )
    _title(node, box.title)


def _line(root: Element, line: Line) -> None:
    (x, y), *others = line.points
    if line.bow:
        (end, _) = others[0]
        low = y + line.bow / 0.75  # a cubic curve comes three quarters of the way to its controls
        course = f"M{_n(x)} {_n(y)}C{_n(x)} {_n(low)} {_n(end)} {_n(low)} {_n(end)} {_n(y)}"
    else:
        course = f"M{_n(x)} {_n(y)}" + "".join(f"L{_n(a)} {_n(b)}" for a, b in others)
    node = SubElement(
        root, "path", {"class": f"link {line.state}", "d": course, "stroke-width": _n(line.width)}
    )
    _title(node, line.title)


def _text(root: Element, text: Text) -> None:
    node = SubElement(root, "text", {"x": _n(text.x), "y": _n(text.y)})
    if text.style:
        node.set("class", text.style)
    if text.anchor != "start":
        node.set("text-anchor", text.anchor)
    node.set("data-room", _n(text.room))
    node.text = _plain(text.words)


def _pill(root: Element, pill: Pill, name: str) -> None:
    pale = "" if pill.confirmed else " unconfirmed"
    group = SubElement(root, "g", {"class": f"pill {pill.state}{pale}"})
    _title(group, pill.title)
    shape = {"x": _n(pill.x), "y": _n(pill.y), "width": _n(pill.width), "height": _n(PILL)}
    round_ = _n(_corner(pill))
    SubElement(group, "rect", {"class": "track", "rx": round_, **shape})
    if pill.fraction is not None:
        fill = {"class": f"fill {pill.state}", "d": _filling(pill)}
        if pill.state in _HATCHES and not pill.words:  # words would be hard to read on a hatch
            fill |= {"class": "hatched", "fill": f"url(#{name}-{pill.state})"}
        SubElement(group, "path", fill)
    SubElement(group, "rect", {"class": "edge", "rx": round_, **shape})
    if pill.words:
        middle = {"x": _n(pill.x + pill.width / 2), "y": _n(pill.y + PILL / 2 + SIZE * 0.36)}
        node = SubElement(group, "text", {**middle, "text-anchor": "middle"})
        node.text = pill.words


def _corner(pill: Pill) -> float:
    return PILL / 2 if pill.words else 4.0  # a gauge is cornered


def _filling(pill: Pill) -> str:
    """The path of a filling up to the fraction: round where the pill is, else cut off straight."""
    filled = pill.width * min(1.0, max(0.0, pill.fraction or 0.0))
    left = min(_corner(pill), filled)
    right = max(0.0, filled - pill.width + _corner(pill))
    return (
        f"M{_n(pill.x + left)} {_n(pill.y)}h{_n(filled - left - right)}"
        f"a{_n(right)} {_n(PILL / 2)} 0 0 1 0 {_n(PILL)}h{_n(left + right - filled)}"
        f"a{_n(left)} {_n(PILL / 2)} 0 0 1 0 {_n(-PILL)}z"
    )


def _title(node: Element, text: str) -> None:
    if text:
        SubElement(node, "title").text = _plain(text)


def _plain(text: str) -> str:
    """The text as it is shown: its lines are broken already."""
    return printable(text.replace("\N{NO-BREAK SPACE}", " "))


def _n(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
