# SPDX-License-Identifier: Apache-2.0
"""Runs pytest as on a plain CPU: no newer instructions in NumPy, in BLAS or in the C library.

    python tests/narrowed.py [arguments of pytest]

They round otherwise, so what passes with them and without does not depend on last digits.
"""

import os
import platform
import sys

from numpy._core import _multiarray_umath

X86 = {
    "OPENBLAS_CORETYPE": "Prescott",
    # Both spellings: glibc 2.33 renamed them, and takes no notice of names that it does not know.
    "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-FMA,-FMA4,-AVX2_Usable,-FMA_Usable,-FMA4_Usable",
}
CORES = {"x86_64": X86, "aarch64": {"OPENBLAS_CORETYPE": "ARMV8"}}


def environment() -> dict[str, str]:
    """The variables that do it; all of them are read when a process starts."""
    found = dict(CORES.get(platform.machine(), {}))
    # NumPy refuses the features of its baseline, and others that it was not built to dispatch on.
    here = _multiarray_umath.__cpu_features__
    features = [name for name in _multiarray_umath.__cpu_dispatch__ if here[name]]
    if features:
        found["NPY_DISABLE_CPU_FEATURES"] = ",".join(features)
    return found


if __name__ == "__main__":
    variables = environment()
    print(*(f"{name}={value}" for name, value in variables.items()), flush=True)
    arguments = [sys.executable, "-m", "pytest", *sys.argv[1:]]
    os.execve(sys.executable, arguments, {**os.environ, **variables})
