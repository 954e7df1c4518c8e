# SPDX-License-Identifier: Apache-2.0
"""Parts of command lines; whole lines are in tests/study."""

from nearpeak.launching.command_lines import device_options
from nearpeak.terms.path import Endpoint


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
