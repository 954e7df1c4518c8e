# SPDX-License-Identifier: Apache-2.0
"""The shapes of a drawing, in its own units: nearly CSS pixels, y downwards."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

SIZE = 11.0  # of all text
LINE = 14.0  # from one line of text to the next
PILL = 16.0  # the height of a pill, and the width of one with only a letter

# Widths of DejaVu Sans, which is wider than most fonts, in parts of the text's size.
_NARROW = dict.fromkeys("ijlI.,:;'|! \N{NO-BREAK SPACE}/J·", 0.34) | dict.fromkeys(
    'frt()[]-–{}"', 0.46
)
_WIDE = dict.fromkeys("mMwWQ%@×→", 0.97) | dict.fromkeys("ABCDEGHKNOPRSUVXYZ_+<>=", 0.76)
_WIDTHS = _NARROW | _WIDE
_USUAL = 0.637
_BOLD = 1.12  # how much wider bold is


@dataclass(frozen=True)
class Box:
    """A rectangle: "socket", "node", "memory", "gpu", "adapter", "fabric" or "host"."""

    kind: str
    name: str  # what it stands for: "gpu 0", "node 0", "adapter mlx5_0:1"
    x: float
    y: float
    width: float
    height: float
    title: str = ""  # shown on hovering

    @property
    def middle(self) -> float:
        """The x of its centre."""
        return self.x + self.width / 2

    @property
    def bottom(self) -> float:
        """The y of its lower edge."""
        return self.y + self.height


@dataclass(frozen=True)
class Text:
    """One line of text; `y` is its baseline, `room` the width that it may take."""

    words: str
    x: float
    y: float
    room: float
    anchor: str = "start"  # or "middle", "end"
    style: str = ""  # "strong", "muted"


@dataclass(frozen=True)
class Line:
    """A link: straight through its points, or (`bow`) an arc between two points that hangs down."""

    points: tuple[tuple[float, float], ...]
    width: float = 1.2
    state: str = "plain"  # "near", "half", "far", "alone": measured
    bow: float = 0.0  # how far the arc hangs
    title: str = ""


@dataclass(frozen=True)
class Pill:
    """A small gauge, filled from the left by the library's fraction; `x` is its left edge."""

    x: float
    y: float
    width: float
    words: str
    fraction: float | None
    state: str
    title: str = ""
    confirmed: bool = True  # else its edge is dashed and its filling pale


@dataclass
class Picture:
    """A whole drawing."""

    width: float
    height: float = 0.0
    title: str = ""
    description: str = ""
    boxes: list[Box] = field(default_factory=list)
    lines: list[Line] = field(default_factory=list)
    texts: list[Text] = field(default_factory=list)
    pills: list[Pill] = field(default_factory=list)

    def say(self, text: str, anchor: str = "start", style: str = "") -> None:
        """Adds text in lines at the bottom of the drawing so far, and moves on below it."""
        x = {"start": 0.0, "middle": self.width / 2}[anchor]
        for line in wrapped(text, self.width, strong=style == "strong"):
            self.texts.append(Text(line, x, self.height + SIZE, self.width, anchor, style))
            self.height += LINE


def text_width(text: str, strong: bool = False) -> float:
    """An upper estimate of the width of a line of text."""
    ems = sum(_WIDTHS.get(char, _USUAL) for char in text)
    return SIZE * ems * (_BOLD if strong else 1.0)


def first_fit(choices: Iterable[str], room: float, strong: bool = False) -> str:
    """The first of the texts that fits; empty where none does."""
    return next((text for text in choices if text_width(text, strong) <= room), "")


def shortened(text: str, room: float, strong: bool = False) -> str:
    """The text, cut off with an ellipsis where it does not fit."""
    if text_width(text, strong) <= room:
        return text
    while text and text_width(text + "…", strong) > room:
        text = text[:-1]
    return text + "…"


def wrapped(text: str, room: float, strong: bool = False) -> list[str]:
    """The text in lines that fit, broken at plain spaces; a word that is too long is cut off."""
    first, *others = text.split(" ")
    lines = [shortened(first, room, strong)]
    for word in others:
        longer = f"{lines[-1]} {word}"
        if text_width(longer, strong) <= room:
            lines[-1] = longer
        else:
            lines.append(shortened(word, room, strong))
    return lines


def glued(text: str) -> str:
    """The text, to be kept on one line: `252 GiB`."""
    return text.replace(" ", "\N{NO-BREAK SPACE}")


def named(names: Sequence[str], most: int) -> str:
    """The names; of more than `most`, their number and two: `8 adapters, mlx5_0:1 to mlx5_7:1`."""
    if len(names) <= most:
        return ", ".join(names)
    return f"{len(names)} adapters, {names[0]} to {names[-1]}"


def joined(numbers: Sequence[int]) -> str:
    """Indices as text: `0`, `0 and 1`, `0 to 3`, `0, 2, 5`."""
    if len(numbers) > 2 and list(numbers) == list(range(numbers[0], numbers[-1] + 1)):
        return f"{numbers[0]} to {numbers[-1]}"
    if len(numbers) == 2:
        return f"{numbers[0]} and {numbers[1]}"
    return ", ".join(map(str, numbers))
