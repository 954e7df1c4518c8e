# SPDX-License-Identifier: Apache-2.0
"""The level of small latencies: which kind of route takes so long."""

from nearpeak.appraisal.view import Effect, Reason, Rule, View
from nearpeak.numbers import number, size

SMALL_BYTES = 1024
# Up to so many us; what takes so long. Host memory: from the recordings of this project and from
# docs/methods; GPU memory: examples/h200x2-shipped, examples/h200-layer.
HOST = (
    (0.9, "the level of shared memory in one host", False),
    (4.0, "the level of RDMA between hosts, or of shared memory across sockets", False),
    (9.0, "slow for RDMA: GPU support that asks the driver, several hops, or busy CPUs", False),
    (30.0, "the level of TCP, of EFA (14 to 22 µs), or of ranks that share a CPU", False),
    (200.0, "the level of TCP, or of ranks that share a CPU", False),
    (1e9, "longer than any route: ranks sleep, share a CPU, or wait for a timer", True),
)
PERFTEST = (  # it uses RDMA alone, with either memory
    (4.0, "the level of RDMA between hosts", False),
    (9.0, "slow for RDMA: several hops, or busy CPUs", False),
    (1e9, "far above the level of RDMA: a congested network, or busy CPUs", False),
)
GPU = (
    (7.0, "the level of a good route in GPU memory: a kernel, or GDRCopy", False),
    (60.0, "the level of a driver call or of staging for each message", False),
    (1e9, "far above any good route: time-sliced GPUs, handles opened each time, or TCP", True),
)


def find(view: View) -> Reason | None:
    """Looks up the level."""
    figure, cell = view.figure, view.figure.small
    timed = figure.of_time or figure.ping_pong
    if not timed or figure.ranks != 2 or cell.case.x > SMALL_BYTES:
        return None
    levels = HOST if figure.on_hosts else GPU
    if figure.clues.tool == "perftest":
        levels = PERFTEST
    us = cell.median or 0.0
    text, low = next((text, low) for most, text, low in levels if us <= most)
    if figure.ping_pong:
        text = f"{number(us)} µs at {size(cell.case.x)}: {text}"
        return Reason(text, effect=Effect.REMARKS)
    return Reason(text, effect=Effect.LOWERS if low else Effect.EXPLAINS)


RULE = Rule(7, find, "the level of latencies of small messages")
