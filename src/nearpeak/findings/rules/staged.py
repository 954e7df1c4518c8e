# SPDX-License-Identifier: Apache-2.0
"""Device memory in the library, compared with explicit copies through host memory."""

from collections import defaultdict
from collections.abc import Iterator

from nearpeak.findings.evidence import PossibleLoss, Rule, View, against
from nearpeak.findings.sentences import Phrases
from nearpeak.findings.sources import Reference
from nearpeak.results.names import bare, staged
from nearpeak.results.results import Cell, Source
from nearpeak.terms.axes import STAGING, staging
from nearpeak.terms.identity import Case, Place

LIMIT = 1.1  # times faster


def find(view: View) -> Iterator[PossibleLoss]:
    """Compares every cell with each staged baseline of its case, of any library."""
    baselines: dict[tuple[Place, Case], list[Cell]] = defaultdict(list)
    for cell in view.cells:
        if staging(cell.case.axes) is not None:
            baselines[cell.place, bare(cell.case)].append(cell)
    for cell in view.unstaged:
        for baseline in baselines.get((cell.place, bare(cell.case)), []):
            if loss := against(cell, baseline, LIMIT):
                yield PossibleLoss(cell, baseline, loss)


def sentence(it: Phrases) -> str:
    """The finding with its evidence."""
    other = it.other
    return (
        f"{it.subject}: {it.measured} by the library's own way against"
        f" {it.better} with {other.who.label} {staged(other.case.axes[STAGING])},"
        f" {it.ratio}."
    )


RULE = Rule(
    name="staged",
    tells=f"The benchmark's own copies through host memory (`staging`) are more than {LIMIT:g}"
    " times better than what the library does with the same buffers.",
    find=find,
    origin="software",
    headline="{it.short}: {it.measured}, {it.better} if the application copies ({it.times})",
    sentence=sentence,
    remedy="Copy such messages through host memory in the application, or have the library do so.",
    sources=[
        Reference(
            Source(
                text='A. Bienz and others, "Modeling data movement performance on heterogeneous'
                ' architectures" (2020): GPUDirect against copies through the host',
                address="https://arxiv.org/abs/2010.10378",
            )
        ),
    ],
)
