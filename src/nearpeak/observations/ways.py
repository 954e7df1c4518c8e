# SPDX-License-Identifier: Apache-2.0
"""The routes of messages of each size with the layer, as `nearpeak layer --explain` found them."""

from collections.abc import Sequence

import msgspec


class Step(msgspec.Struct, frozen=True):
    """Messages of a size."""

    size_bytes: int
    way: str  # of most of them; "" where the layer says nothing of any
    latency_us: float  # half of there and back


class Leg(msgspec.Struct, frozen=True):
    """Messages from one memory into another."""

    words: str  # "from a device to a device"
    buffers: str  # of the launch; of H,D the time is the mean of both directions
    path: str
    steps: list[Step]


class Ways(msgspec.Struct, frozen=True):
    """The routes of a library's messages on one machine."""

    library: str
    version: str
    host: str
    settings: dict[str, str]  # of the layer, those that decide
    # By rank of the sender: up to how many bytes a kernel copies between devices, where it was
    # measured.
    kernel_bytes: dict[int, int]
    no_kernel: str  # why none copies, where the layer knows
    legs: list[Leg]
    failed: list[str]  # launches without a figure, and why


def alike(steps: Sequence[Step]) -> list[list[Step]]:
    """Steps in their order, in groups that go the same way."""
    groups: list[list[Step]] = []
    for step in steps:
        if groups and groups[-1][-1].way == step.way:
            groups[-1].append(step)
        else:
            groups.append([step])
    return groups
