# SPDX-License-Identifier: Apache-2.0
"""The HTML report of a tuning: one file that loads nothing and runs no script."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from nearpeak.document import templates
from nearpeak.files import write_whole
from nearpeak.report.tuned import words
from nearpeak.report.tuned.drawing import before_after, each_value
from nearpeak.tune.tuned import Tried, Tuned

NAME = "report.html"
SHOWN = 24  # values in the drawing, chosen by the largest change; the table has all

_HERE = Path(__file__).parent


def write_page(tuning: Tuned, files: Mapping[str, Sequence[Path]], folder: Path) -> Path:
    """Writes the report into the folder of the tuning and returns its path; UserError. `files`:
    the files of each profile, by where it may be used; the profile itself comes first."""
    target = folder / NAME
    write_whole(target, render(tuning, files))
    return target


def render(tuning: Tuned, files: Mapping[str, Sequence[Path]]) -> str:
    """The HTML of the report."""
    return (
        templates.environment(_HERE)
        .get_template("tuned.html.j2")
        .render(
            tuning=tuning,
            files=files,
            words=words,
            before_after=before_after(tuning.evidence),
            each_value=each_value(_most(tuning.tried), tuning.targets),
            shown=SHOWN,
            css=templates.css(),
        )
    )


def _most(tried: Sequence[Tried]) -> list[Tried]:
    """The values that change a target most, the best first."""
    measured = [value for value in tried if value.times]
    far = sorted(measured, key=lambda value: max(max(t, 1 / t) for t in value.times), reverse=True)
    return sorted(far[:SHOWN], key=lambda value: max(value.times), reverse=True)
