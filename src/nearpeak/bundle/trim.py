# SPDX-License-Identifier: Apache-2.0
"""An installed library reduced to what a launch needs."""

import fnmatch
import hashlib
import os
import shutil
import subprocess
from pathlib import Path

# Patterns of paths in a prefix. Bindings for other languages, the library of the standard ABI (no
# program here is built for it), what compiles and links, and tools that no launch calls.
LEFT_OUT = (
    *("*.a", "*.la", "*.jar", "*.mod", "*/cmake/*", "*/pkgconfig/*", "*/man/*", "*/examples/*"),
    *("lib/python*", "*/__pycache__/*", "requirements.txt", "etc/conda/*", "include/*/*"),
    *("lib/libmpifort*", "lib/libmpicxx*", "lib/libmpijava*", "lib/libmpi_ilp64*", "*_abi.*"),
    *("bin/mpic*", "bin/mpif*", "bin/opal_wrapper", "bin/mpivars"),
    # NVIDIA's UCX
    *("libucx/bin/*", "libucx/include/*", "libucx/share/*", "*libucx_perftest*"),
    # Intel MPI: another way to start ranks, which is not the default; its tuning program; the
    # tables of collectives for single processors, which do not compress (the generic stay).
    *("lib/libmpcp*", "opt/mpi/tune_fast/*", "bin/mpitune_fast", "bin/*cpuinfo"),
    *("*/tuning_[!g]*.dat", "*/tuning_gnr_*.dat"),
)
IMB = "bin/IMB-*"  # the Intel MPI Benchmarks
FIRST_LINK = 1 << 12  # bytes: smaller files are not worth a link


def copy(prefix: Path, target: Path, *, imb: bool) -> None:
    """Copies a prefix without what is left out; strips programs; equal files become links."""
    left_out = LEFT_OUT if imb else (*LEFT_OUT, IMB)
    kept: dict[str, Path] = {}
    for file in sorted(prefix.rglob("*")):
        name = str(file.relative_to(prefix))
        if not (file.is_file() or file.is_symlink()):
            continue
        if any(fnmatch.fnmatch(name, one) for one in left_out):
            continue
        there = target / name
        there.parent.mkdir(parents=True, exist_ok=True)
        if file.is_symlink():
            if not file.readlink().is_absolute() and file.exists():
                there.symlink_to(file.readlink())
            continue
        mark = hashlib.sha256(file.read_bytes()).hexdigest()
        if mark in kept and file.stat().st_size >= FIRST_LINK:
            there.symlink_to(os.path.relpath(kept[mark], there.parent))
            continue
        kept[mark] = there
        shutil.copy2(file, there)
        _strip(there)


def _strip(file: Path) -> None:
    """Removes the symbol table for debuggers, where a file has one and there is a `strip`."""
    data = file.read_bytes()
    if data[:4] == b"\x7fELF" and b"\0.symtab\0" in data and shutil.which("strip"):
        subprocess.run(["strip", "--strip-unneeded", str(file)], capture_output=True, check=False)
