# SPDX-License-Identifier: Apache-2.0
"""The settings of a library, compared with its other settings."""

from collections import defaultdict
from collections.abc import Iterator

from nearpeak.findings.evidence import WORTH, PossibleLoss, Rule, View, against
from nearpeak.findings.sentences import Phrases, change
from nearpeak.findings.sources import Reference
from nearpeak.libraries.library import Settings
from nearpeak.results.results import Cell, Source
from nearpeak.terms.identity import Case, Place


def find(view: View) -> Iterator[PossibleLoss]:
    """Compares every cell with that of other settings of its library."""
    places: dict[tuple[str, Place, Case], list[Cell]] = defaultdict(list)
    for cell in view.unstaged:
        places[cell.who.library, cell.place, cell.case].append(cell)
    for alternatives in places.values():
        for cell in alternatives:
            for best in alternatives:
                loss = against(cell, best, WORTH) if best is not cell else None
                if loss is not None:
                    yield PossibleLoss(cell, best, loss)


# Losses of settings other than the default cost nobody time: these come last.
def sentence(it: Phrases) -> str:
    """The finding with its evidence."""
    changes = ", ".join(map(change, it.finding.remedy.changes))
    who = it.who
    return (
        f"{who.library}, {it.place.path}, {it.case}: {it.better} with"
        f" the settings {it.other.who.settings} against {it.measured} with"
        f" {who.settings}, {it.ratio};"
        f" the difference: {changes or 'none that the plan knows'}."
    )


RULE = Rule(
    name="settings",
    tells=f"Other settings of the same library are more than {WORTH:g} times better.",
    find=find,
    origin="settings",
    headline="{it.short}: {it.measured}, {it.better} with {it.other.who.settings} ({it.times})",
    sentence=sentence,
    action="{it.apply}",
    remedy="Run the library with the faster settings.",
    sources=[
        Reference(
            Source(
                text='D. De Sensi and others, "Exploring GPU-to-GPU communication: insights into'
                ' supercomputer interconnects", SC24',
                address="https://arxiv.org/abs/2408.14090",
            ),
            memory="device",
        ),
    ],
    by_settings=True,
    is_cause=True,
    only_tried=lambda seen: seen.cell.who.settings != Settings().name,
)
