# SPDX-License-Identifier: Apache-2.0
"""The version of glibc that a program needs, and that of this machine."""

import os
import re
from collections.abc import Iterable
from pathlib import Path

Version = tuple[int, int]
PORTABLE: Version = (2, 28)  # RHEL 8's: packages for other machines run with it


def installed() -> Version:
    """The version of this machine's C library; (0, 0) when it is not glibc."""
    try:
        name = os.confstr("CS_GNU_LIBC_VERSION") or ""
    except (ValueError, OSError):
        name = ""
    match = re.fullmatch(r"glibc (\d+)\.(\d+).*", name)
    return (int(match[1]), int(match[2])) if match else (0, 0)


def needed(files: Iterable[Path]) -> Version:
    """The newest version that a symbol of these files needs; (0, 0) without any ELF file."""
    newest = (0, 0)
    for file in files:
        data = file.read_bytes()
        if data[:4] == b"\x7fELF":
            versions = re.findall(rb"GLIBC_(\d+)\.(\d+)(?:\.\d+)?\0", data)
            newest = max([newest, *((int(major), int(minor)) for major, minor in versions)])
            if b"GLIBC_ABI_DT_RELR\0" in data:  # a requirement of the loader, and no symbol
                newest = max(newest, (2, 36))
    return newest


def text(version: Version) -> str:
    """2.39"""
    return f"{version[0]}.{version[1]}"
