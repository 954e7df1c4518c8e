# SPDX-License-Identifier: Apache-2.0
"""Lays out the pages of the documentation's site, for mkdocs: `make docs`.

    python site/assemble.py FOLDER

The folders are those of the repository, so links between pages stay as they are; a link to a folder
becomes one to its page. To these come the reports of examples, made anew from their records, and
drawings of the recorded machines.
"""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from nearpeak.machine.sysfs import from_sysfs
from nearpeak.picture.layout import layout
from nearpeak.picture.svg import standalone

ROOT = Path(__file__).parents[1]
NEARPEAK = Path(sys.executable).with_name("nearpeak")
PAGE = "README.md"  # of a folder
MACHINES = ROOT / "tests" / "machines"
LINK = re.compile(r"(?<=\]\()(?!\w+:|#)(?P<path>[^)#\s]+)")
RECORDS = ("examples/*/records.jsonl", "examples/conform/*/conform.jsonl")
MADE = ("report.html", "conform.html")


def pages() -> Iterator[Path]:
    """The pages that stand in the repository."""
    for pattern in ("*.md", "docs/**/*.md", "examples/*/*.md", "packaging/*.md", "benchmarks/*.md"):
        yield from sorted(ROOT.glob(pattern))


def assemble(target: Path) -> None:
    """Writes all pages, and what they link to, into a folder."""
    for page in pages():
        text = page.read_text("utf-8")
        for found in LINK.finditer(text):
            _bring(page.parent / found["path"], target)
        _place(page, target).write_text(_with_pages(page.parent, text), "utf-8")
    for example in sorted({file.parent for name in RECORDS for file in ROOT.glob(name)}):
        _report(example, target / example.relative_to(ROOT))
    _machines(target / "machines")


def _place(file: Path, target: Path) -> Path:
    place = target / file.resolve().relative_to(ROOT)
    place.parent.mkdir(parents=True, exist_ok=True)
    return place


def _bring(file: Path, target: Path) -> None:
    """A file that is linked to, unless it is a page itself."""
    if file.is_file() and file.suffix != ".md":
        shutil.copyfile(file, _place(file, target))


def _with_pages(folder: Path, text: str) -> str:
    """The text of a page in `folder`, with links to the pages of folders in place of these."""

    def to_page(link: re.Match[str]) -> str:
        return f"{link[0].rstrip('/')}/{PAGE}" if (folder / link[0]).is_dir() else link[0]

    return LINK.sub(to_page, text)


def _report(example: Path, place: Path) -> None:
    """Makes the report of an example or of a run of one, and a link to it on the example's page."""
    command = [str(NEARPEAK), "report", str(example), "-o", str(place)]
    ended = subprocess.run(command, stdout=subprocess.DEVNULL, check=False)
    if ended.returncode not in (0, 1):  # 1: a launch failed, which is shown
        sys.exit(f"the report of {example} cannot be made")
    [made] = (name for name in MADE if (place / name).is_file())
    for results in place.glob("*.json"):
        results.unlink()  # is not linked to
    page = next(above / PAGE for above in (place, place.parent) if (above / PAGE).is_file())
    report = (place / made).relative_to(page.parent)
    title = "The whole report" if page.parent == place else f"The whole report of {place.name}"
    with page.open("a", encoding="utf-8") as text:
        text.write(f"\n[**{title}**]({report}), made of these records by `nearpeak report`.\n")


def _machines(place: Path) -> None:
    """Draws the recorded machines, each with the words that its file begins with."""
    place.mkdir()
    parts = [
        "# Recorded machines",
        "Drawn by `nearpeak machine --picture`, of the recordings that the tests have"
        " (`tests/machines`); [how to record yours](../docs/how-to/machine.md).",
    ]
    for file in sorted(MACHINES.glob("*.txt")):
        (place / f"{file.stem}.svg").write_text(standalone(layout(from_sysfs(file))), "utf-8")
        said = [
            line.lstrip("# ") for line in file.read_text("utf-8").splitlines() if line[:1] == "#"
        ]
        parts += [f"## {file.stem}", "\n".join(said), f"![{file.stem}]({file.stem}.svg)"]
    (place / PAGE).write_text("\n\n".join(parts) + "\n", "utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python site/assemble.py FOLDER")
    assemble(Path(sys.argv[1]))
