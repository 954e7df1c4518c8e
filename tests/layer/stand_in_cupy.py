# SPDX-License-Identifier: Apache-2.0
"""Stands for CuPy: arrays in the memory of a CUDA driver (NEARPEAK_CUDA_LIBRARY), the fake one too.

It has what mpi4py's tests use of CuPy, and mpi4py_rank.py imports it under that name. An array is a
piece of device memory and a *ghost*, numpy's array at the same addresses, which knows shapes and
strides and is never read: on the fake driver that would end the process. As CuPy does, it cuts
arrays out of larger allocations.
"""

import ctypes
import os
from collections import defaultdict
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np

__version__ = "13.0.0"
ALLOCATION = 2 << 20  # bytes
PIECE = 512  # bytes: pieces are multiples of it

driver = ctypes.CDLL(os.environ["NEARPEAK_CUDA_LIBRARY"])
free: dict[int, list[int]] = defaultdict(list)  # addresses of pieces by their bytes
rest = [0, 0]  # where the allocation that is being cut goes on, and its bytes from there on
context = ctypes.c_void_p()
stream = ctypes.c_void_p()


def call(name: str, *arguments: Any) -> None:
    """Calls the driver; RuntimeError with its number for an error."""
    if error := getattr(driver, name)(*arguments):
        raise RuntimeError(f"{name}: error {error}")


class Device:
    """A device by its number, as CuPy has it."""

    def __init__(self, number: int) -> None:
        self.id = number

    def use(self) -> None:
        """Takes it, once for a process."""
        call("cuDevicePrimaryCtxRetain", ctypes.byref(context), self.id)
        call("cuCtxSetCurrent", context)
        call("cuStreamCreateWithPriority", ctypes.byref(stream), 1, 0)


def device_count() -> int:
    """How many devices the driver has; the first call of it."""
    call("cuInit", 0)
    count = ctypes.c_int()
    call("cuDeviceGetCount", ctypes.byref(count))
    return count.value


def synchronize() -> None:
    """Waits for nothing: each copy here was waited for."""


cuda = SimpleNamespace(
    Device=Device,
    get_current_stream=lambda: SimpleNamespace(synchronize=synchronize),
    runtime=SimpleNamespace(is_hip=False, getDeviceCount=device_count),
)


class Piece:
    """Device memory, which is used again once nobody holds this."""

    def __init__(self, size: int) -> None:
        self.bytes = -(-size // PIECE) * PIECE
        if not free[self.bytes]:
            self._cut()
        self.address = free[self.bytes].pop()

    def _cut(self) -> None:
        if rest[1] < self.bytes:
            call("cuCtxSetCurrent", context)  # of whatever thread
            new, size = ctypes.c_ulonglong(), max(self.bytes, ALLOCATION)
            call("cuMemAlloc_v2", ctypes.byref(new), ctypes.c_size_t(size))
            rest[:] = new.value, size
        free[self.bytes].append(rest[0])
        rest[0] += self.bytes
        rest[1] -= self.bytes

    def __del__(self) -> None:
        free[self.bytes].append(self.address)


class ndarray:
    """An array in device memory, or a view of one."""

    def __init__(self, piece: Piece, ghost: Any) -> None:
        self.piece, self.ghost = piece, ghost
        self.dtype, self.itemsize, self.size = ghost.dtype, ghost.itemsize, ghost.size
        self.shape, self.strides = ghost.shape, ghost.strides

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        gaps = not self.ghost.flags.c_contiguous
        return {
            "version": 3,
            "data": (self.ghost.ctypes.data if self.size else 0, False),
            "typestr": self.dtype.str,
            "descr": self.dtype.descr,
            "shape": self.shape,
            "strides": self.strides if gaps else None,
        }

    @property
    def T(self) -> "ndarray":
        return ndarray(self.piece, self.ghost.T)

    @property
    def device(self) -> Device:
        number = ctypes.c_int()
        call("cuCtxGetDevice", ctypes.byref(number))
        return Device(number.value)

    def ravel(self) -> "ndarray":
        return ndarray(self.piece, _without_gaps(self.ghost).reshape(-1))

    def fill(self, value: Any) -> None:
        self[...] = value

    def get(self) -> Any:
        """A copy of it, of numpy's."""
        if self.ghost.flags.c_contiguous:
            made = np.empty(self.shape, self.dtype)
            _copy(made.ctypes.data, self.ghost.ctypes.data, made.nbytes)
            return made
        whole = np.empty(self.piece.bytes, "B")
        _copy(whole.ctypes.data, self.piece.address, whole.nbytes)
        offset = self.ghost.ctypes.data - self.piece.address
        return np.ndarray(self.shape, self.dtype, whole, offset, self.strides)

    def toDlpack(self) -> Any:
        """A capsule of it without a shape, made as mpi4py's tests make theirs."""
        import dlpackimpl as dlpack

        managed = dlpack.make_dl_managed_tensor(self.ghost)
        managed.dl_tensor.device = dlpack.DLDevice(dlpack.DLDeviceType.kDLCUDA, self.device.id)
        return dlpack.make_py_capsule(managed, owned=True)

    def __len__(self) -> int:
        return len(self.ghost)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.get())

    def __getitem__(self, key: Any) -> Any:
        """A view, or one number."""
        view = self.ghost[_with_ellipsis(key)]
        return ndarray(self.piece, view) if view.ndim else ndarray(self.piece, view).get()[()]

    def __setitem__(self, key: Any, value: Any) -> None:
        view = _without_gaps(self.ghost[_with_ellipsis(key)])
        given = np.asarray(value.get() if isinstance(value, ndarray) else value)
        new = np.empty(view.shape, view.dtype)
        new[...] = given.astype(view.dtype)  # -1 is the greatest number without a sign
        _copy(view.ctypes.data, new.ctypes.data, new.nbytes)

    def __eq__(self, other: Any) -> Any:
        return self.get() == (other.get() if isinstance(other, ndarray) else other)

    __hash__ = None  # type: ignore[assignment]


def _with_ellipsis(key: Any) -> tuple[Any, ...]:
    """A key with which numpy makes a view, even of one number, and reads nothing."""
    keys = key if isinstance(key, tuple) else (key,)
    return keys if any(each is Ellipsis for each in keys) else (*keys, Ellipsis)


def _without_gaps(ghost: Any) -> Any:
    if not ghost.flags.c_contiguous:
        raise NotImplementedError("the stand-in has this for arrays without gaps alone")
    return ghost


def _copy(to: int, source: int, size: int) -> None:
    if size:
        call("cuCtxSetCurrent", context)
        addresses = (ctypes.c_ulonglong(each) for each in (to, source))
        call("cuMemcpyAsync", *addresses, ctypes.c_size_t(size), stream)
        call("cuStreamSynchronize", stream)


def empty(shape: Any, dtype: Any = float) -> ndarray:
    """As numpy's, on the device that the process has taken."""
    dtype = np.dtype(dtype)
    shape = (shape,) if np.isscalar(shape) else tuple(shape)
    piece = Piece(int(np.prod(shape, dtype=int)) * dtype.itemsize)
    bytes_ = (ctypes.c_ubyte * piece.bytes).from_address(piece.address)
    return ndarray(piece, np.ndarray(shape, dtype, bytes_))


def zeros(shape: Any, dtype: Any = float) -> ndarray:
    """As numpy's."""
    made = empty(shape, dtype)
    made.fill(0)
    return made


def ones(shape: Any, dtype: Any = float) -> ndarray:
    """As numpy's."""
    made = empty(shape, dtype)
    made.fill(1)
    return made


def array(values: Any, dtype: Any = None) -> ndarray:
    """As numpy's; what is given may be on the device."""
    values = np.asarray(values.get() if isinstance(values, ndarray) else values)
    made = empty(values.shape, dtype or values.dtype)
    made[...] = values
    return made


asarray = array
