# SPDX-License-Identifier: Apache-2.0
"""nearpeak.tune.cures"""

from pathlib import Path

import msgspec
import pytest
from made_libraries import made_library

from nearpeak.errors import UserError
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


def test_the_layer_with_gpu_support_off_and_the_drivers_answer() -> None:
    assert tried(made_library(family="intel")) == [
        {"I_MPI_OFFLOAD": "0", "LD_PRELOAD": LAYER},
        {"LD_PRELOAD": QUERIES},
    ]
    off = {"MV2_USE_CUDA": "0", "MVP_USE_CUDA": "0"}
    assert tried(made_library(family="mvapich"))[0] == {**off, "LD_PRELOAD": LAYER}


def test_only_the_drivers_answer_without_a_switch_or_behind_the_layer() -> None:
    assert tried(made_library(family="openmpi")) == [{"LD_PRELOAD": QUERIES}]
    layer = msgspec.structs.replace(made_library(family="intel"), layer=True)
    assert tried(layer) == [{"LD_PRELOAD": QUERIES}]
    assert tried(made_library(family="unknown")) == [{"LD_PRELOAD": QUERIES}]


def test_what_the_shell_preloads_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LD_PRELOAD", "/x/libdarshan.so")
    assert tried(made_library(family="openmpi")) == [{"LD_PRELOAD": f"{QUERIES}:/x/libdarshan.so"}]


def test_a_path_that_the_loader_takes_apart_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cures, "build_queries", lambda: Path("/my cache/libnearpeak-queries.so"))
    with pytest.raises(UserError, match="has a blank or a colon"):
        cures.cures(made_library(family="openmpi"))
