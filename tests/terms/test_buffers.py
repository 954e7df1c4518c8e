# SPDX-License-Identifier: Apache-2.0
"""Which buffers fit which path, and the devices that they need."""

from types import ModuleType

import pytest

from nearpeak.errors import UserError
from nearpeak.terms import buffers


@pytest.mark.parametrize(
    ("text", "kinds"),
    [("D,D", "D,D"), (" h, d ", "H,D"), ("p,M", "P,M"), ("D", "D,D"), ("M,D,D", "M,D,D")],
)
def test_buffers_have_one_spelling(text: str, kinds: str) -> None:
    assert buffers.parse_buffers(text) == kinds


@pytest.mark.parametrize("text", ["", "X,D", "DD", "D;D", "D,"])
def test_other_words_are_refused_with_what_would_do(text: str) -> None:
    with pytest.raises(UserError, match="H \\(host\\), P"):
        buffers.parse_buffers(text)


@pytest.mark.parametrize("text", ["H,H,H", "h,h,h,h"])
def test_more_than_two_alike_are_refused(text: str) -> None:
    """They were taken for two."""
    with pytest.raises(UserError, match=r"names \d buffers alike: give H for all ranks"):
        buffers.parse_buffers(text)


def test_buffers_fit_paths_by_their_memory(standins: ModuleType) -> None:
    host, gpus = standins.data_path(), standins.gpu_path()
    between = standins.gpu_path("host-gpu near")
    bare = standins.gpu_path("host-gpu near", device="-")
    assert [bool(buffers.rank_ends(bare, kinds)) for kinds in ("H,D", "P,D")] == [True, False]
    fits = {
        kinds: [bool(buffers.rank_ends(path, kinds)) for path in (host, gpus, between)]
        for kinds in ("H,H", "D,D", "M,D", "H,D", "D,H", "P,D", "P,P")
    }
    assert fits == {
        "H,H": [True, False, False],
        "D,D": [False, True, False],
        "M,D": [False, True, False],
        "H,D": [False, False, True],
        "D,H": [False, False, True],
        "P,D": [False, False, True],
        "P,P": [False, False, False],  # nobody to pin it
    }


def test_the_rank_with_the_gpu_sits_at_its_end(standins: ModuleType) -> None:
    path = standins.gpu_path("host-gpu near")
    there, back = buffers.rank_ends(path, "H,D"), buffers.rank_ends(path, "D,H")
    assert [end.memory for end in there] == ["host", "gpu"]
    assert [end.memory for end in back] == ["gpu", "host"]
    assert buffers.memory_devices(there) == ["-", "GPU-1"]
    assert buffers.memory_devices(back) == ["GPU-1", "-"]


def test_a_path_has_its_own_buffers(standins: ModuleType) -> None:
    assert buffers.default_buffers(standins.data_path(), symmetric=False) == ["H,H"]
    assert buffers.default_buffers(standins.gpu_path(), symmetric=False) == ["D,D"]
    between = standins.gpu_path("host-gpu near")
    assert buffers.default_buffers(between, symmetric=True) == ["H,D"]
    assert buffers.default_buffers(between, symmetric=False) == ["H,D", "D,H"]


def test_a_ceiling_is_the_paths_however_memory_was_allocated() -> None:
    assert [buffers.ceiling_buffers(kinds) for kinds in ("H,H", "P,D", "D,P", "M,M")] == [
        "H,H",
        "H,D",
        "D,H",
        "D,D",
    ]


def test_letters_are_of_halves_of_the_ranks(standins: ModuleType) -> None:
    assert buffers.kinds_of("H,D", 4) == ["H", "H", "D", "D"]
    assert buffers.kinds_of("D,D", 3) == ["D", "D", "D"]
    assert buffers.kinds_of("H,D,D,H", 4) == ["H", "D", "D", "H"]
    assert buffers.kinds_of("H,D,D", 4) is None
    four = standins.wide_path(4, gpus=True)
    assert buffers.rank_ends(four, "M,D") == four.ends
    assert buffers.rank_ends(four, "H,D") is None
    assert buffers.memory_devices(four.ends) == ["GPU-0", "GPU-1", "GPU-2", "GPU-3"]
