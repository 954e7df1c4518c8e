# SPDX-License-Identifier: Apache-2.0
"""The rails of a run, and what all rails of a node, a link or a group have in common.

Rail i is GPU i of every node, with the adapter that is nearest to it. Pairs are measured between
GPUs of one rail, so that each rail is a network of its own to the judgement.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from nearpeak.arrays import Floats
from nearpeak.errors import UserError
from nearpeak.machine.machine import Machine
from nearpeak.machine.rails import forced_adapters
from nearpeak.nodes.plan import Rail
from nearpeak.statistics.additive import lower_median

LEAST = 3  # rails: of two, neither is usual


class Parts(NamedTuple):
    """Values divided into those of all rails, and those of each."""

    common: Floats  # of each subject in each launch
    # of each rail in addition, or alone if most rails are faster than usual: subjects x launches x
    # rails; None: one rail
    apart: Floats | None


def parts(values: Floats) -> Parts:
    """Divides values (subjects x launches x rails, nan: not measured). What rails have in common is
    their median; of an even number the lower one, as what is usual is not slow. A rail is not
    slow for the faster ones beside it."""
    if values.shape[2] == 1:
        return Parts(values[:, :, 0], None)
    common = lower_median(values)
    return Parts(common, values - np.maximum(common, 0.0)[..., None])


def choose(
    machine: Machine, gpus: Sequence[str], adapters: Sequence[str], *, is_node: bool
) -> list[Rail]:
    """Returns the rails of these GPUs of each node, by their numbers for a rank; without any, of
    all GPUs of this machine. `adapters`: of each of them, in place of the nearest ones; `is_node`:
    this machine is one of the nodes. UserError."""
    nearest = forced_adapters(machine)
    near = {gpu.number: nearest.get(gpu.index, "") for gpu in machine.gpus}
    if not near and (is_node or not gpus):
        notes = "".join(f" ({note})" for note in machine.gpu_notes)
        elsewhere = "" if is_node else ": say which GPUs the nodes have, like --gpus 0-7"
        raise UserError(f"--buffers D,D takes GPUs, and this host has none{notes}{elsewhere}")
    chosen = [*(gpus or near)]
    if is_node and (lacking := [gpu for gpu in chosen if gpu not in near]):
        raise UserError(f"--gpus: this host has no GPU {lacking[0]}, but {', '.join(near)}")
    if adapters and len(adapters) != len(chosen):
        raise UserError(
            f"--adapters names {len(adapters)} for {len(chosen)} GPUs: give one for each, or leave"
            " it out for the nearest"
        )
    named = adapters or [near.get(gpu, "") for gpu in chosen]
    return [Rail(gpu=gpu, adapter=name) for gpu, name in zip(chosen, named, strict=True)]


def parse_numbers(text: str) -> list[str]:
    """Returns the numbers of `0-3,6`. UserError."""
    numbers: list[str] = []
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        ends = [first, last] if dash else [first, first]
        if not all(end.isascii() and end.isdecimal() and len(end) < 4 for end in ends):
            raise UserError(f"{text!r} does not number GPUs: give them like 0,1 or 0-7")
        numbers += map(str, range(int(ends[0]), int(ends[1]) + 1))
    if not numbers or len(set(numbers)) < len(numbers):
        raise UserError(f"{text!r} names a GPU twice, or none: give each once, like 0-7")
    return numbers
