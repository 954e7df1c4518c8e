# SPDX-License-Identifier: Apache-2.0
"""Which way messages go with the layer: its report, and real launches on the fake driver."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fake_gpus import with_fake_gpus

from nearpeak.errors import UserError
from nearpeak.explain import ways
from nearpeak.explain.ways import BUFFERS, Step, Ways, alike, explain, told
from nearpeak.machine.discover import discover
from nearpeak.study import single

SAID = """\
nearpeak layer: rank 0: sent 9 by envelope (0 set aside), 3 through host memory (0 in parts); \
received 9 by envelope, 0 through host memory (0 in parts); 0 collectives directly, 0 collectives \
and other calls through host memory; 0 accesses to windows; 5 of 9 short copies by a kernel (up to \
262144 bytes from rank 1, 65536 bytes from rank 3), 0 of datatypes
nearpeak layer: set: NEARPEAK_LAYER_HOST=pieces NEARPEAK_LAYER_LONG=65536
nearpeak layer: rank 0: sent from a device, at most 8 bytes: 3 through host memory by a kernel
nearpeak layer: rank 1: received into a device, at most 64 bytes: 1 directly by the copy engine; \
8 directly by a kernel
"""


def test_the_report_of_a_launch_is_read() -> None:
    found = told(SAID)
    assert found.settings == {"NEARPEAK_LAYER_HOST": "pieces", "NEARPEAK_LAYER_LONG": "65536"}
    assert found.kernel_bytes == {1: 262144, 3: 65536}
    assert found.counts == {
        (0, "sent from", 8): {"through host memory by a kernel": 3},
        (1, "received into", 64): {"directly by the copy engine": 1, "directly by a kernel": 8},
    }
    assert told("no layer") == ways.Told(settings={}, kernel_bytes={}, counts={})


def test_the_way_is_that_of_most_messages_as_the_receiver_says_or_else_the_sender() -> None:
    [asked] = ways._ASKED["D,D"]
    found = told(SAID)
    assert found.way(asked, 64) == "directly by a kernel"
    assert found.way(asked, 8) == "through host memory by a kernel"
    assert found.way(asked, 128) == ""


def test_sizes_that_go_alike_are_together() -> None:
    steps = [Step(1 << n, way, 1.0) for n, way in enumerate("aabac")]
    assert [[step.size_bytes for step in group] for group in alike(steps)] == [
        [1, 2],
        [4],
        [8],
        [16],
    ]


@pytest.fixture
def launched(
    installed: Callable[[str], Any],
    monkeypatch: pytest.MonkeyPatch,
    fake_cuda: Path,
    fake_nvrtc: Path,
) -> Callable[..., Ways]:
    """Real launches of MPICH with the layer, with more variables for it."""
    installed("mpich")
    if len(discover().allowed_cpus) < 2:
        pytest.skip("needs two CPUs")
    monkeypatch.setenv("NEARPEAK_CUDA_LIBRARY", str(fake_cuda))
    monkeypatch.setenv("NEARPEAK_NVRTC_LIBRARY", str(fake_nvrtc))
    monkeypatch.setenv("NEARPEAK_FAKE_CUDA", "reachable=1,mps=1")
    monkeypatch.setattr(single.here, "discover", with_fake_gpus)

    def launch(**env: str) -> Ways:
        given = [f"{name}={value}" for name, value in env.items()]
        chosen = [
            single.choose("latency", "mpich+layer", "test", buffers=buffers, settings_env=given)
            for buffers in BUFFERS
        ]
        return explain(chosen, [8, 1024, 65536], lambda _: None)

    return launch


@pytest.mark.usefixtures("own_cpus")
def test_real_launches_say_which_way_each_size_goes(launched: Callable[..., Ways]) -> None:
    found = launched(NEARPEAK_LAYER_KERNEL="0", NEARPEAK_LAYER_LONG="2000")
    assert found.settings["NEARPEAK_LAYER_LONG"] == "2000"
    assert (found.library, found.kernel_bytes) == ("mpich+layer", {})
    assert {leg.words: [step.way for step in leg.steps] for leg in found.legs} == {
        "from a device to a device": [
            "through host memory by the copy engine",
            *["directly by the copy engine"] * 2,
        ],
        "from the host to a device": [*["through host memory by the copy engine"] * 2, "in pieces"],
        # Rank 0 has no device of its own before the first long one.
        "from a device to the host": [*["through host memory by the copy engine"] * 2, "in pieces"],
    }
    assert all(step.latency_us > 0 for leg in found.legs for step in leg.steps)


def test_without_the_layer_there_is_nothing_to_say(launched: Callable[..., Ways]) -> None:
    with pytest.raises(UserError, match="the layer says nothing of its messages"):
        launched(NEARPEAK_LAYER="off")
