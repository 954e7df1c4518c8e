# SPDX-License-Identifier: Apache-2.0
"""Draws what the Python packages import of each other, for CONTRIBUTING.md.

    python tests/house.py > docs/images/house.svg

A package stands above all that it imports. Made from the imports, and not from test_layers.LAYERS.
"""

import html
from collections import defaultdict

from test_layers import ROOT, imported

WIDTH, ROW, BOX, GAP = 900, 46, 30, 10
FONT = "font-family='sans-serif' font-size='13'"


def imports() -> dict[str, set[str]]:
    """What each package, or module that stands alone, imports of others."""
    found: dict[str, set[str]] = defaultdict(set)
    for file in sorted(ROOT.rglob("*.py")):
        own = file.relative_to(ROOT).parts[0].removesuffix(".py")
        if own != "__init__":
            found[own] |= {name.split(".")[0] for name in imported(file)} - {own}
    return dict(found)


def levels(found: dict[str, set[str]]) -> list[list[str]]:
    """The packages from the lowest up, each above all that it imports."""
    level: dict[str, int] = {}

    def place(name: str) -> int:
        if name not in level:
            level[name] = max((place(folder) + 1 for folder in sorted(found[name])), default=0)
        return level[name]

    for name in sorted(found):
        place(name)
    return [
        sorted(folder for folder in level if level[folder] == row)
        for row in range(max(level.values()) + 1)
    ]


def draw(rows: list[list[str]], found: dict[str, set[str]]) -> str:
    """The highest row first, and in each box what is imported most directly."""
    height = ROW * len(rows) + GAP
    parts = [
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {WIDTH} {height}' {FONT}>",
        f"<rect width='{WIDTH}' height='{height}' fill='white'/>",
    ]
    for row, names in enumerate(reversed(rows)):
        width = (WIDTH - GAP) / len(names)
        for column, name in enumerate(names):
            x, y = GAP + column * width, GAP + row * ROW
            title = f"{name} imports {', '.join(sorted(found[name])) or 'nothing'}"
            parts += [
                f"<g><title>{html.escape(title)}</title>",
                f"<rect x='{x:.0f}' y='{y}' width='{width - GAP:.0f}' height='{BOX}' rx='4'"
                " fill='#e8eef6' stroke='#5577aa'/>",
                f"<text x='{x + (width - GAP) / 2:.0f}' y='{y + 20}' text-anchor='middle'"
                f" fill='#222'>{html.escape(name)}</text></g>",
            ]
    return "\n".join([*parts, "</svg>"])


if __name__ == "__main__":
    graph = imports()
    print(draw(levels(graph), graph))
