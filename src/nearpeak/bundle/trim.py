# SPDX-License-Identifier: Apache-2.0
"""An installed library reduced to what a launch needs.

A library is measured as its makers ship it: nothing may be missing that it opens, on any machine
(tests/bundle/test_opened.py). What it opens on other processors alone is left out where that is
asked for; then the library is said to lack it, wherever its figures are shown.
"""

import fnmatch
import hashlib
import itertools
import os
import re
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

from nearpeak.libraries.discover import LACKS

# Patterns of paths in a prefix that no launch opens. Bindings for other languages, the library of
# the standard ABI (no program here is built for it), what compiles and links, and tools.
LEFT_OUT = (
    *("*.a", "*.la", "*.jar", "*.mod", "*/cmake/*", "*/pkgconfig/*", "*/man/*", "*/examples/*"),
    *("lib/python*", "*/__pycache__/*", "requirements.txt", "etc/conda/*", "include/*/*"),
    *("lib/libmpifort*", "lib/libmpicxx*", "lib/libmpijava*", "lib/libmpi_ilp64*", "*_abi.*"),
    *("bin/mpic*", "bin/mpif*", "bin/opal_wrapper", "bin/mpivars"),
    # NVIDIA's UCX
    *("libucx/bin/*", "libucx/include/*", "libucx/share/*", "*libucx_perftest*"),
    # Intel MPI: another way to start ranks, that I_MPI_MPCP asks for; its tuning program.
    *("lib/libmpcp*", "opt/mpi/tune_fast/*", "bin/mpitune_fast", "bin/*cpuinfo"),
)
IMB = "bin/IMB-*"  # the Intel MPI Benchmarks
# Intel MPI's tables of collectives: each for a processor, or for all that have none.
TABLE = re.compile(r"opt/mpi/etc/tuning_([a-z-]+?)_.*\.dat")
GENERIC = "generic"
FIRST_LINK = 1 << 12  # bytes: smaller files are not worth a link


def processors(prefix: Path) -> set[str]:
    """The processors, by their vendor's names, for which a library has tables of its own."""
    matches = filter(None, (TABLE.fullmatch(name) for name in _names(prefix)))
    return {match[1] for match in matches} - {GENERIC}


def copy(prefix: Path, target: Path, *, imb: bool, processor: str | None = None) -> str:
    """Copies a prefix without what is left out; strips programs; equal files become links.

    With `processor`, tables for other processors are left out too. Returns, and writes to LACKS,
    what the library lacks then of what it may open; "": nothing.
    """
    others = processors(prefix) - {processor} if processor else set()
    patterns = [*LEFT_OUT, *(f"opt/mpi/etc/tuning_{other}_*.dat" for other in others)]
    left_out = any_of(patterns if imb else [*patterns, IMB])
    kept: dict[str, Path] = {}
    for name in itertools.filterfalse(left_out.match, _names(prefix)):
        file, destination = prefix / name, target / name
        destination.parent.mkdir(parents=True, exist_ok=True)
        if file.is_symlink():
            if not file.readlink().is_absolute() and file.exists():
                destination.symlink_to(file.readlink())
            continue
        mark = hashlib.sha256(file.read_bytes()).hexdigest()
        if mark in kept and file.stat().st_size >= FIRST_LINK:
            destination.symlink_to(os.path.relpath(kept[mark], destination.parent))
            continue
        kept[mark] = destination
        shutil.copy2(file, destination)
        _strip(destination)
    if not others:
        return ""
    lacks = f"the tables of collectives for processors other than {processor}"
    (target / LACKS).write_text(f"{lacks}\n", "utf-8")
    return lacks


def any_of(patterns: Iterable[str]) -> re.Pattern[str]:
    """One regular expression for all of these patterns of the shell."""
    return re.compile("|".join(map(fnmatch.translate, patterns)))


def _names(prefix: Path) -> list[str]:
    """The files and links of a prefix, in order."""
    files = (file for file in sorted(prefix.rglob("*")) if file.is_file() or file.is_symlink())
    return [str(file.relative_to(prefix)) for file in files]


def _strip(file: Path) -> None:
    """Removes the symbol table for debuggers, where a file has one and there is a `strip`."""
    data = file.read_bytes()
    if data[:4] == b"\x7fELF" and b"\0.symtab\0" in data and shutil.which("strip"):
        subprocess.run(["strip", "--strip-unneeded", str(file)], capture_output=True, check=False)
