# SPDX-License-Identifier: Apache-2.0
"""The cures of what GPU support costs messages in host memory, that leave device buffers to be sent
(docs/pointer-queries.md)."""

from nearpeak.libraries.build import build_layer, build_queries
from nearpeak.libraries.families import all_families
from nearpeak.libraries.library import Library
from nearpeak.libraries.preload import VARIABLE, before_others
from nearpeak.libraries.tunables import Offered, Tunable

SOURCE = "docs/pointer-queries.md"


def cures(library: Library) -> list[Offered]:
    """The layer before the library with GPU support off, and what answers the driver's question for
    host memory. Errors as build_layer."""
    family = all_families().get(library.family)
    found = []
    if family and family.gpu_off and not library.layer:
        found.append(
            Tunable(
                name=VARIABLE,
                component=library.family,
                summary="Nearpeak's layer takes device buffers, and the library none",
                values=[before_others(build_layer(library))],
                with_=family.gpu_off,
                source=SOURCE,
            )
        )
    found.append(
        Tunable(
            name=VARIABLE,
            component=library.family,
            summary="the driver's quick question answers for host memory",
            values=[before_others(build_queries())],
            source=SOURCE,
        )
    )
    return [Offered(each, True, "") for each in found]
