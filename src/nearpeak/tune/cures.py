# SPDX-License-Identifier: Apache-2.0
"""Remedies for the cost of GPU support to messages in host memory that keep device buffers working
(docs/how-to/pointer-queries.md)."""

from pathlib import Path

from nearpeak.libraries.build import build_layer, build_queries
from nearpeak.libraries.families import all_families
from nearpeak.libraries.library import Library
from nearpeak.libraries.preload import VARIABLE, before_others
from nearpeak.libraries.tunables import Offered, Tunable

SOURCE = "docs/how-to/pointer-queries.md"


def cures(library: Library) -> list[Offered]:
    """Lists two preloads: the layer, with the library's GPU support off, and the library that
    answers the driver's pointer query for host memory. Errors as build_layer."""
    offers = []
    family = all_families().get(library.family)
    if family and family.gpu_off and not library.layer:
        summary = "Nearpeak's layer takes device buffers, and the library none"
        offers.append(_preloaded(library, build_layer(library), summary, family.gpu_off))
    summary = "the driver's quick question answers for host memory"
    offers.append(_preloaded(library, build_queries(), summary, {}))
    return offers


def _preloaded(library: Library, file: Path, summary: str, with_: dict[str, str]) -> Offered:
    tunable = Tunable(
        name=VARIABLE,
        component=library.family,
        summary=summary,
        values=[before_others(file)],
        with_=with_,
        source=SOURCE,
    )
    return Offered(tunable, True, "")
