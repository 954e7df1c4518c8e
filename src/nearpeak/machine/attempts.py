# SPDX-License-Identifier: Apache-2.0
"""System calls that containers often forbid, tried for real in children that end at once."""

import ctypes
import os
import platform
from collections.abc import Callable

PR_SET_PTRACER = 0x59616D61
PR_SET_PTRACER_ANY = ctypes.c_ulong(-1)
MPOL_BIND = 2
# The kernel's number of set_mempolicy; libnuma, which would know, is often not installed.
SET_MEMPOLICY = {"x86_64": 238, "ppc64le": 261, "aarch64": 237, "riscv64": 237}
TOKEN = b"nearpeak"
UNKNOWN = 255


class IoVec(ctypes.Structure):
    """struct iovec."""

    _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]


def read_sibling(permit: bool) -> int:
    """Tries to read a sibling's memory by process_vm_readv, as two ranks would; 0 or errno.

    With `permit` the sibling first allows it by PR_SET_PTRACER, as UCX does.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    memory = ctypes.create_string_buffer(len(TOKEN))
    ready, tell_ready = os.pipe()
    over, tell_over = os.pipe()

    def target() -> int:
        os.close(tell_over)  # or the wait below would never end
        if permit:
            libc.prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0)
        memory.raw = TOKEN
        os.write(tell_ready, b"!")
        os.read(over, 1)
        return 0

    owner = _start(target)

    def reader() -> int:
        buffer = ctypes.create_string_buffer(len(TOKEN))
        local = IoVec(ctypes.addressof(buffer), len(TOKEN))
        remote = IoVec(ctypes.addressof(memory), len(TOKEN))
        got = libc.process_vm_readv(
            owner, ctypes.byref(local), ctypes.c_ulong(1), ctypes.byref(remote), ctypes.c_ulong(1),
            ctypes.c_ulong(0),
        )  # fmt: skip
        if got < 0:
            return ctypes.get_errno()
        return 0 if buffer.raw == TOKEN else UNKNOWN

    os.close(tell_ready)
    os.read(ready, 1)
    result = _finish(_start(reader))
    os.close(tell_over)
    _finish(owner)
    os.close(ready)
    os.close(over)
    return result


def bind_memory(node: int) -> int | None:
    """Tries to bind memory to a NUMA node by set_mempolicy; 0 or errno.

    None where the number of the system call is not known for this processor.
    """
    number = SET_MEMPOLICY.get(platform.machine())
    if number is None:
        return None
    libc = ctypes.CDLL(None, use_errno=True)
    bits = 8 * ctypes.sizeof(ctypes.c_ulong)
    mask = (ctypes.c_ulong * 16)()
    mask[node // bits] = 1 << node % bits

    def bind() -> int:
        done = libc.syscall(
            ctypes.c_long(number), ctypes.c_long(MPOL_BIND), mask, ctypes.c_ulong(16 * bits)
        )
        return ctypes.get_errno() if done else 0

    return _finish(_start(bind))


def _start(work: Callable[[], int]) -> int:
    child = os.fork()
    if child == 0:
        status = UNKNOWN
        try:
            status = work()
        finally:
            os._exit(status)
    return child


def _finish(child: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
