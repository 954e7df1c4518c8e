# SPDX-License-Identifier: Apache-2.0
"""How long CUDA's driver takes to say that an address is in host memory, by both of its calls.

Run as a program it prints both in us. It imports nothing of Nearpeak's, and takes a context on the
first GPU, which a process keeps: so a process of its own asks.
"""

import ctypes
import os
import subprocess
import sys
import time
from collections.abc import Callable
from typing import NamedTuple

LIMIT_SECONDS = 20  # the driver of eight GPUs takes some to start
MEMORY_TYPE = 2  # CU_POINTER_ATTRIBUTE_MEMORY_TYPE
TIMES = 400
# As nearpeak layer --only-queries decides (bench/queries/queries.cpp).
DEAR, DEAR_US = 2, 0.25


class HostQueries(NamedTuple):
    """Of an address in host memory, in us."""

    one_us: float  # cuPointerGetAttribute
    several_us: float  # cuPointerGetAttributes

    @property
    def are_dear(self) -> bool:
        """Whether a library that asks by the first call waits for nothing."""
        return self.one_us > max(DEAR * self.several_us, self.several_us + DEAR_US)


def measure() -> HostQueries | None:
    """Measures it in a process of its own; None where there is no driver that answers in time."""
    try:
        done = subprocess.run(
            [sys.executable, __file__],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=LIMIT_SECONDS,
            check=True,
        )
        one, several = map(float, done.stdout.split())
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    return HostQueries(one, several)


def _ask() -> None:
    driver = ctypes.CDLL(os.environ.get("NEARPEAK_CUDA_LIBRARY", "libcuda.so.1"))
    context = ctypes.c_void_p()
    driver.cuInit(0)
    driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
    if driver.cuCtxSetCurrent(context):
        sys.exit("no context")
    memory = ctypes.create_string_buffer(64)
    address = ctypes.c_uint64(ctypes.addressof(memory))
    kind, version = ctypes.c_uint(), ctypes.c_int()
    attribute = ctypes.c_int(MEMORY_TYPE)
    answers = (ctypes.c_void_p * 1)(ctypes.addressof(kind))
    empty = _fastest_us(lambda: driver.cuDriverGetVersion(ctypes.byref(version)))
    for call in (
        lambda: driver.cuPointerGetAttribute(ctypes.byref(kind), attribute, address),
        lambda: driver.cuPointerGetAttributes(1, ctypes.byref(attribute), answers, address),
    ):
        print(max(0.0, _fastest_us(call) - empty))


def _fastest_us(call: Callable[[], int]) -> float:
    """The fastest of some calls, with what Python takes for one."""
    fastest = float("inf")
    for _ in range(TIMES):
        begin = time.perf_counter_ns()
        call()
        fastest = min(fastest, time.perf_counter_ns() - begin)
    return fastest / 1000


if __name__ == "__main__":
    _ask()
