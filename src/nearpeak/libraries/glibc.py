# SPDX-License-Identifier: Apache-2.0
"""Which glibc a program needs, and which is here."""

import os
import re
from collections.abc import Iterable
from pathlib import Path

Version = tuple[int, int]
PORTABLE: Version = (2, 28)  # packages that are taken to other machines run with it, RHEL 8's


def here() -> Version:
    """The version of this machine's C library; (0, 0) when it is not glibc."""
    try:
        said = os.confstr("CS_GNU_LIBC_VERSION") or ""
    except (ValueError, OSError):
        return (0, 0)
    found = re.fullmatch(r"glibc (\d+)\.(\d+).*", said)
    return (int(found[1]), int(found[2])) if found else (0, 0)


def needed(files: Iterable[Path]) -> Version:
    """The newest version that a symbol of these files asks for; (0, 0) without any ELF file."""
    newest = (0, 0)
    for file in files:
        data = file.read_bytes()
        if data[:4] == b"\x7fELF":
            asked = re.findall(rb"GLIBC_(\d+)\.(\d+)(?:\.\d+)?\0", data)
            newest = max([newest, *((int(major), int(minor)) for major, minor in asked)])
            if b"GLIBC_ABI_DT_RELR\0" in data:  # how it is loaded, and no symbol
                newest = max(newest, (2, 36))
    return newest


def text(version: Version) -> str:
    """2.39"""
    return f"{version[0]}.{version[1]}"
