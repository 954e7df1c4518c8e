# SPDX-License-Identifier: Apache-2.0
"""Parts of command lines; whole lines are in tests/study."""

import re
from types import ModuleType

import msgspec
import pytest

from nearpeak.launching.command_lines import (
    TOKEN,
    Seats,
    device_options,
    rank_launch,
    with_token,
    within_host,
)
from nearpeak.libraries.library import Settings
from nearpeak.terms.path import DataPath, Endpoint


def ends(*gpus: str | None) -> tuple[Endpoint, ...]:
    """Of a rank each, with the memory of a GPU or of the host."""
    return tuple(
        Endpoint(memory="gpu" if gpu else "host", cpus=[0], numa_node=0, gpu=gpu) for gpu in gpus
    )


def test_devices_do_not_grow_with_the_ranks_that_share_one() -> None:
    assert device_options(ends("GPU-a", "GPU-b"), "D,D") == ["--devices", "GPU-a,GPU-b"]
    assert device_options(ends(None, "GPU-b"), "H,D") == ["--devices", "GPU-b,GPU-b"]
    many = ends(*["GPU-a"] * 2048, *["GPU-b"] * 2048)
    assert device_options(many, "D,D") == ["--devices", "GPU-a*2048,GPU-b*2048"]
    assert device_options(many, "H,H") == []


@pytest.mark.parametrize("device", ["GPU-0", "GPU-1", "-"])
def test_the_rank_of_the_host_holds_the_same_with_mpi_and_without(
    standins: ModuleType, device: str
) -> None:
    path = standins.gpu_path("host-gpu near", device=device)
    for buffers, ends, held in (
        ("H,D", path.ends, f"{device},GPU-1"),
        ("D,H", path.ends[::-1], f"GPU-1,{device}"),
    ):
        assert device_options(ends, buffers) == ["--devices", held]
        assert within_host(Seats(path, ends, buffers))[-2:] == ["--devices", held]


def test_gpu_support_is_on_for_device_buffers_and_where_the_path_says_so() -> None:
    host = DataPath(id="host-host same-numa", summary="", transport="memory", ends=ends(None, None))
    support = msgspec.structs.replace(host, id=f"{host.id} gpu-support", variant_of=host.id)
    gpus = DataPath(id="gpu-gpu nvlink", summary="", transport="memory", ends=ends("a", "b"))
    for path, buffers, on in ((host, "H,H", False), (support, "H,H", True), (gpus, "D,D", True)):
        launch = rank_launch(["program"], Seats(path, path.ends, buffers), Settings())
        assert launch.gpu is on
    held = [
        msgspec.structs.replace(end, device=gpu) for end, gpu in zip(host.ends, "ab", strict=True)
    ]
    assert device_options(held, "H,H") == ["--devices", "a,b"]
    assert device_options(host.ends, "H,H") == []


def test_a_token_is_made_up_for_each_launch_that_takes_one() -> None:
    first, second = with_token({TOKEN: "", "X": "1"}), with_token({TOKEN: ""})
    assert re.fullmatch("[0-9a-f]{32}", first[TOKEN])
    assert first[TOKEN] != second[TOKEN]
    assert first["X"] == "1"
    assert with_token({"X": "1"}) == {"X": "1"}
