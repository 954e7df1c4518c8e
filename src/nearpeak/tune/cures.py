# SPDX-License-Identifier: Apache-2.0
"""The cures of what GPU support costs messages in host memory (docs/pointer-queries.md)."""

from collections.abc import Mapping
from pathlib import Path

from nearpeak.libraries.build import LAYER, build_layer, build_queries
from nearpeak.libraries.families import all_families
from nearpeak.libraries.library import Library
from nearpeak.libraries.preload import VARIABLE
from nearpeak.libraries.tunables import Offered, Tunable

SOURCE = "docs/pointer-queries.md"
NO_DEVICE_BUFFERS = "device buffers: the library takes none, and crashes on them"


def cures(library: Library) -> list[Offered]:
    """What answers the driver's question for host memory, the layer before the library with GPU
    support off, and GPU support off alone. Errors as build_layer."""
    off = _gpu_off(library)
    found = [
        Tunable(
            name=VARIABLE,
            component=library.family,
            summary="the driver's quick question answers for host memory",
            values=[str(build_queries())],
            source=SOURCE,
        )
    ]
    if off and not library.layer:
        *others, (switch, value) = off.items()
        found += [
            Tunable(
                name=VARIABLE,
                component=library.family,
                summary="Nearpeak's layer takes device buffers, and the library none",
                values=[str(build_layer(library))],
                with_=off,
                source=SOURCE,
            ),
            Tunable(
                name=switch,
                component=library.family,
                summary="the library's GPU support",
                values=[value],
                with_=dict(others),
                source=SOURCE,
            ),
        ]
    return [Offered(each, True, "") for each in found]


def breaks(library: Library, env: Mapping[str, str]) -> list[str]:
    """What stops working with GPU support off, where the layer is not there in its place."""
    names = [name for name, value in _gpu_off(library).items() if env.get(name) == value]
    if not names or Path(env.get(VARIABLE, "")).name == LAYER:
        return []
    return [f"{', '.join(names)}: {NO_DEVICE_BUFFERS}"]


def _gpu_off(library: Library) -> dict[str, str]:
    family = all_families().get(library.family)
    return family.gpu_off if family else {}
