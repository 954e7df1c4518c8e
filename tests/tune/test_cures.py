# SPDX-License-Identifier: Apache-2.0
"""nearpeak.tune.cures"""

from pathlib import Path

import msgspec
import pytest
from made_libraries import made_library

from nearpeak.libraries.library import Library
from nearpeak.tune import cures

LAYER, QUERIES = "/build/libnearpeak-layer.so", "/build/libnearpeak-queries.so"


@pytest.fixture(autouse=True)
def _nothing_is_built(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cures, "build_layer", lambda _library: Path(LAYER))
    monkeypatch.setattr(cures, "build_queries", lambda: Path(QUERIES))


def tried(library: Library) -> list[dict[str, str]]:
    return [
        each.tunable.env(value) for each in cures.cures(library) for value in each.tunable.values
    ]


def test_three_cures_where_gpu_support_can_be_switched_off() -> None:
    assert tried(made_library(family="intel")) == [
        {"LD_PRELOAD": QUERIES},
        {"I_MPI_OFFLOAD": "0", "LD_PRELOAD": LAYER},
        {"I_MPI_OFFLOAD": "0"},
    ]
    assert tried(made_library(family="mvapich"))[2] == {"MV2_USE_CUDA": "0", "MVP_USE_CUDA": "0"}


def test_only_the_drivers_answer_without_a_switch_or_behind_the_layer() -> None:
    assert tried(made_library(family="openmpi")) == [{"LD_PRELOAD": QUERIES}]
    layer = msgspec.structs.replace(made_library(family="intel"), layer=True)
    assert tried(layer) == [{"LD_PRELOAD": QUERIES}]


def test_without_gpu_support_device_buffers_break_unless_the_layer_takes_them() -> None:
    library = made_library(family="intel")
    assert cures.breaks(library, {"I_MPI_OFFLOAD": "0"}) == [
        "I_MPI_OFFLOAD: device buffers: the library takes none, and crashes on them"
    ]
    assert not cures.breaks(library, {"I_MPI_OFFLOAD": "0", "LD_PRELOAD": LAYER})
    assert not cures.breaks(library, {"I_MPI_OFFLOAD": "1", "LD_PRELOAD": QUERIES})
    assert not cures.breaks(made_library(family="openmpi"), {})
