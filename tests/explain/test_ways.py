# SPDX-License-Identifier: Apache-2.0
"""Which way messages go with the layer: its report, and real launches on the fake driver."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fake_gpus import with_fake_gpus

from nearpeak.errors import UserError
from nearpeak.explain import ways
from nearpeak.explain.ways import BUFFERS, explain, parse_report
from nearpeak.launching import single
from nearpeak.launching.single_launch import LaunchFailed
from nearpeak.machine.discover import discover
from nearpeak.observations.ways import Ways

SAID = """\
nearpeak layer: rank 0: sent 9 by envelope (0 set aside), 3 through host memory (0 in parts); \
received 9 by envelope, 0 through host memory (0 in parts); 0 collectives directly, 0 collectives \
and other calls through host memory; 0 accesses to windows; 5 of 9 short copies by a kernel (up to \
262144 bytes from rank 1, 65536 bytes from rank 3), 0 of datatypes: it answers too late
nearpeak layer: set: NEARPEAK_LAYER_HOST=pieces NEARPEAK_LAYER_LONG=65536
nearpeak layer: rank 1: sent from a device, at most 8 bytes: 3 through host memory, copied by a \
kernel; 5 in parts
nearpeak layer: rank 1: received into a device, at most 64 bytes: 1 directly, copied by the copy \
engine; 8 directly, copied by a kernel; garbled
nearpeak layer: rank 0: received from a device, at most 8 bytes: 4 directly, copied by a kernel
"""
TRIES = 5  # on a busy machine who is to copy may come late, and another one does


def test_the_report_of_a_launch_is_read() -> None:
    found = parse_report(SAID)
    assert found.settings == {"NEARPEAK_LAYER_HOST": "pieces", "NEARPEAK_LAYER_LONG": "65536"}
    assert found.kernel_bytes == {1: 262144, 3: 65536}
    assert found.no_kernel == "it answers too late"
    assert found.counts == {
        (1, "sent from", 8): {"through host memory, copied by a kernel": 3, "in parts": 5},
        (1, "received into", 64): {
            "directly, copied by the copy engine": 1,
            "directly, copied by a kernel": 8,
        },
        (0, "received from", 8): {"directly, copied by a kernel": 4},
    }
    assert parse_report("no layer") == ways.Report(
        settings={}, kernel_bytes={}, no_kernel="", counts={}
    )


def test_the_way_is_that_of_most_messages() -> None:
    [there, back], [up, down] = ways._DIRECTIONS["D,D"], ways._DIRECTIONS["H,D"]
    found = parse_report(SAID)
    assert found.way(there, 64) == found.way(up, 64) == "directly, copied by a kernel"
    assert found.way(back, 64) == found.way(there, 8) == ""
    # A receiver in memory of the host does not know of those that the sender has copied there.
    assert found.way(down, 8) == "in parts"


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
    monkeypatch.setattr(single.here, "discover", with_fake_gpus)

    def launch(path: str | None = None, fake: str = "reachable=1,mps=1", **env: str) -> Ways:
        monkeypatch.setenv("NEARPEAK_FAKE_CUDA", fake)
        given = [f"{name}={value}" for name, value in env.items()]
        chosen = [
            single.choose(
                "latency", "mpich+layer", "test", path=path, buffers=buffers, settings_env=given
            )
            for buffers in (BUFFERS[:1] if path else BUFFERS)
        ]
        return explain(chosen, [8, 1024, 65536], lambda _: None)

    return launch


def test_real_launches_say_which_way_each_size_goes(launched: Callable[..., Ways]) -> None:
    host, directly = (
        f"{way}, copied by the copy engine" for way in ("through host memory", "directly")
    )
    expected = {
        "from a device to a device": [directly] * 3,
        "from the host to a device": [host, host, "in pieces"],
        # Rank 0 accepts envelopes from the first receive of 1 KiB on.
        "from a device to the host": [host, directly, "in pieces"],
    }
    seen = []
    for _ in range(TRIES):
        found = launched(NEARPEAK_LAYER_KERNEL="0", NEARPEAK_LAYER_LONG="2000")
        assert found.settings["NEARPEAK_LAYER_LONG"] == "2000"
        assert (found.library, found.kernel_bytes) == ("mpich+layer", {})
        assert all(step.latency_us > 0 for leg in found.legs for step in leg.steps)
        seen.append({leg.words: [step.way for step in leg.steps] for leg in found.legs})
        if seen[-1] == expected:
            break
    assert expected in seen


def test_without_the_layer_there_is_nothing_to_say(launched: Callable[..., Ways]) -> None:
    with pytest.raises(UserError, match="the layer says nothing of its messages"):
        launched(NEARPEAK_LAYER="off")


def test_kernels_copy_what_is_short(launched: Callable[..., Ways]) -> None:
    host, directly = (f"{way}, copied by a kernel" for way in ("through host memory", "directly"))
    expected = {
        "from a device to a device": [directly] * 2,
        "from the host to a device": [host, host],
        "from a device to the host": [host, directly],
    }
    assert any(
        {leg.words: [step.way for step in leg.steps[:2]] for leg in found.legs} == expected
        for found in (launched(NEARPEAK_LAYER_KERNEL="100000") for _ in range(TRIES))
    )


def test_where_processes_take_turns_another_rank_copies(launched: Callable[..., Ways]) -> None:
    there = ["directly, copied by another rank"] * 2
    turns = ("gpu-gpu same-gpu", "reachable=1")
    assert any(
        [step.way for step in found.legs[0].steps[:2]] == there
        and not any("another rank" in step.way for step in found.legs[1].steps)
        for found in (
            launched(*turns, NEARPEAK_LAYER_MOVER_PATIENCE="1000000") for _ in range(TRIES)
        )
        if len(found.legs) == 2
    )


def test_a_launch_that_fails_leaves_the_others(
    launched: Callable[..., Ways], monkeypatch: pytest.MonkeyPatch
) -> None:
    measure = ways.measure

    def fails(chosen: single.Single, *words: Any) -> list[Any]:
        if chosen.buffers == "D,D":
            raise LaunchFailed("no figure")
        return measure(chosen, *words)

    monkeypatch.setattr(ways, "measure", fails)
    found = launched()
    assert found.failed == ["D,D: no figure"]
    assert {leg.buffers for leg in found.legs} == {"H,D"}
