# SPDX-License-Identifier: Apache-2.0
"""An installation's answer about its settings, from its tools or its file."""

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
    """The variables that an installation reads, each with its value ("": it does not report it)."""

    values: dict[str, str]
    hidden: tuple[str, ...] = ()  # prefixes of the variables that it cannot list on this machine
    version: str = ""  # of a component that is no part of the library; "": the library loads none
    numbers: Mapping[str, Mapping[str, int]] = {}  # of words that are values, by variable

    def has(self, name: str) -> bool | None:
        """True if it reads this variable; None: it cannot list it on this machine."""
        if name in self.values:
            return True
        return None if name.startswith(self.hidden) else False


def output_of(tool: str, arguments: list[str], library: Library) -> str:
    """The output of a tool in the library's `bin`, in the environment of the library's launches.

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
    """The names with this prefix that are complete strings in a shared library: it can read them.

    For libraries without a tool that lists them. CannotIdentify for a library that has none, as it
    composes them at run time, or that cannot be read.
    """
    pattern = re.compile(rb"\0(" + prefix.encode() + rb"[A-Z0-9_]+)(?=\0)")
    try:
        with (
            file.open("rb") as opened,
            mmap.mmap(opened.fileno(), 0, prot=mmap.PROT_READ) as mapped,
        ):
            names = {match[1].decode() for match in pattern.finditer(mapped)}
    except (OSError, ValueError) as error:  # ValueError: it is empty
        raise CannotIdentify(f"{file} cannot be read") from error
    if not names:
        raise CannotIdentify(f"{file} holds no names of variables")
    return Answer(dict.fromkeys(sorted(names), ""))
