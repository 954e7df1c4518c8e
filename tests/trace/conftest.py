# SPDX-License-Identifier: Apache-2.0
"""The application that these tests trace."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from nearpeak.libraries.build import compiler, kit_for
from nearpeak.libraries.library import Library

KNOWN = Path(__file__).with_name("known.c")


@pytest.fixture(scope="session")
def known(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., str]:
    """Gives known.c compiled for a library with these flags: once for all tests."""
    made: dict[tuple[str, ...], str] = {}

    def compiled(library: Library, *flags: str) -> str:
        kit = kit_for(library)
        key = (str(kit.library), *flags)
        if key not in made:
            program = str(tmp_path_factory.mktemp("known") / "known")
            words = [*flags, f"-I{kit.header.parent}", "-x", "c", str(KNOWN), "-x", "none"]
            link = [str(kit.library), "-Wl,--allow-shlib-undefined", "-ldl"]
            subprocess.run([*compiler(), *words, "-o", program, *link], check=True)
            made[key] = program
        return made[key]

    return compiled
