# SPDX-License-Identifier: Apache-2.0
"""The page of a tuning: one file that loads nothing and runs no script."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from nearpeak.files import write_whole
from nearpeak.report import templates
from nearpeak.report.tuned import words
from nearpeak.report.tuned.drawing import before_after, each_value
from nearpeak.tune.tuned import Tried, Tuned

NAME = "report.html"
SHOWN = 24  # values in the drawing: those that change most; the table has all

_HERE = Path(__file__).parent


def write_page(found: Tuned, files: Mapping[str, Sequence[Path]], folder: Path) -> Path:
    """Writes it into the folder of the tuning and returns its path; UserError. `files`: of each
    profile, by where it may be used; the profile itself comes first."""
    target = folder / NAME
    write_whole(target, render(found, files))
    return target


def render(found: Tuned, files: Mapping[str, Sequence[Path]]) -> str:
    """The page, whole."""
    return (
        templates.environment(_HERE)
        .get_template("tuned.html.j2")
        .render(
            found=found,
            files=files,
            words=words,
            before_after=before_after(found.evidence),
            each_value=each_value(_most(found.tried), found.targets),
            shown=SHOWN,
            css=templates.css(),
        )
    )


def _most(tried: Sequence[Tried]) -> list[Tried]:
    """Those that change a target most, the best first."""
    told = [value for value in tried if value.times]
    far = sorted(told, key=lambda value: max(max(t, 1 / t) for t in value.times), reverse=True)
    return sorted(far[:SHOWN], key=lambda value: max(value.times), reverse=True)
