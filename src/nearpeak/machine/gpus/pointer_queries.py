# SPDX-License-Identifier: Apache-2.0
"""Measures the excess time of a pointer query by the call that MPI libraries use over another.

Both ask CUDA's driver about an address in host memory. As a program it prints the difference in us.
It imports nothing of Nearpeak's, and runs in a separate process because it takes a context on the
first GPU.
"""

import ctypes
import os
import subprocess
import sys
import time
from collections.abc import Callable

LIMIT_SECONDS = 20  # the driver of eight GPUs takes some to start
MEMORY_TYPE = 2  # CU_POINTER_ATTRIBUTE_MEMORY_TYPE
TIMES = 400
# More is expensive: the limit of nearpeak layer --only-queries (preload/queries/queries.cpp).
DEAR_US = 0.25


def excess_us() -> float | None:
    """The excess time of cuPointerGetAttribute over cuPointerGetAttributes, for host memory.

    Measured in a separate process; None where no driver answers in time.
    """
    # A preloaded library would be measured instead of the driver.
    env = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    try:
        asking = subprocess.Popen(
            [sys.executable, __file__],
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
    except OSError:
        return None
    try:
        printed, _ = asking.communicate(timeout=LIMIT_SECONDS)
        return float(printed)
    except ValueError:
        return None
    except subprocess.TimeoutExpired:
        asking.kill()  # without a wait: a broken driver may block it for ever
        return None


def _ask() -> None:
    driver = ctypes.CDLL(os.environ.get("NEARPEAK_CUDA_LIBRARY", "libcuda.so.1"))
    context = ctypes.c_void_p()
    if (
        driver.cuInit(0)
        or driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
        or driver.cuCtxSetCurrent(context)
    ):
        sys.exit("no context")
    memory = ctypes.create_string_buffer(64)
    address = ctypes.c_uint64(ctypes.addressof(memory))
    kind = ctypes.c_uint()
    attribute, count = ctypes.c_int(MEMORY_TYPE), ctypes.c_uint(1)
    answers = (ctypes.c_void_p * 1)(ctypes.addressof(kind))
    to, attributes = ctypes.byref(kind), ctypes.byref(attribute)
    single, several = driver.cuPointerGetAttribute, driver.cuPointerGetAttributes
    # Python takes longer for the second, which has one argument more.
    print(
        _fastest_us(lambda: single(to, attribute, address))
        - _fastest_us(lambda: several(count, attributes, answers, address))
    )


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
