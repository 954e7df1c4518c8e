# SPDX-License-Identifier: Apache-2.0
"""What an installation says of its settings, and how its tools are run."""

import mmap
import os
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from nearpeak.libraries.identify import LIMIT_SECONDS, CannotIdentify
from nearpeak.libraries.launch import environment
from nearpeak.libraries.library import Library


class Answer(NamedTuple):
    """The variables that an installation reads, each with its value ("": it does not say)."""

    values: dict[str, str]
    hidden: tuple[str, ...] = ()  # how the names begin of those that it cannot tell of here
    version: str = ""  # of a component that is no part of the library; "": the library loads none
    numbers: Mapping[str, Mapping[str, int]] = {}  # of words that are values, by variable

    def has(self, name: str) -> bool | None:
        """Whether it reads this variable; None: it cannot tell here."""
        if name in self.values:
            return True
        return None if name.startswith(self.hidden) else False


def output_of(tool: str, arguments: list[str], library: Library) -> str:
    """What a tool in the library's `bin` prints, in the environment of the library's launches.

    CannotIdentify when it is not there, fails or does not end.
    """
    file = library.prefix / "bin" / tool
    try:
        done = subprocess.run(
            [str(file), *arguments],
            env={**os.environ, **environment(library)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=LIMIT_SECONDS,
            check=False,
        )
    except OSError as error:
        raise CannotIdentify(f"{file}: {error.strerror}") from error
    except subprocess.TimeoutExpired as error:
        raise CannotIdentify(f"{file}: no answer within {LIMIT_SECONDS:.0f} s") from error
    if done.returncode:
        raise CannotIdentify(f"{file}: exit status {done.returncode}")
    return done.stdout.decode(errors="replace")


def names_in(file: Path, prefix: str) -> Answer:
    """The names with this prefix that a shared library holds as whole strings: what it can read.

    For libraries without a tool that lists them. CannotIdentify when it has none, as where they are
    put together at run time, or cannot be read.
    """
    pattern = re.compile(rb"\0(" + prefix.encode() + rb"[A-Z0-9_]+)(?=\0)")
    try:
        with file.open("rb") as opened, mmap.mmap(opened.fileno(), 0, prot=mmap.PROT_READ) as whole:
            names = {found[1].decode() for found in pattern.finditer(whole)}
    except (OSError, ValueError) as error:  # ValueError: it is empty
        raise CannotIdentify(f"{file} cannot be read") from error
    if not names:
        raise CannotIdentify(f"{file} holds no names of variables")
    return Answer(dict.fromkeys(sorted(names), ""))
