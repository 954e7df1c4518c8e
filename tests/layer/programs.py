# SPDX-License-Identifier: Apache-2.0
"""How the programs beside this file are compiled.

Tests import it by its name: `from layer_programs import compiled` (tests/conftest.py).
"""

import subprocess
from pathlib import Path

from nearpeak.libraries.build import compiler, kit_for
from nearpeak.libraries.library import Library

HERE = Path(__file__).parent


def compiled(library: Library, name: str, folder: Path) -> Path:
    """NAME.cpp for a library, in a folder of the library's own."""
    kit = kit_for(library)
    program = folder / name
    skipped = ["-DOMPI_SKIP_MPICXX", "-DMPICH_SKIP_MPICXX"]
    flags = ["-std=c++17", "-O0", f"-I{kit.header.parent}", *skipped]  # the least to compile
    link = [str(kit.library), "-Wl,--allow-shlib-undefined", "-ldl"]
    source = HERE / f"{name}.cpp"
    subprocess.run([*compiler(), *flags, str(source), "-o", str(program), *link], check=True)
    return program
