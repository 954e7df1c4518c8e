# SPDX-License-Identifier: Apache-2.0
"""The compiler of programs for other machines: clang as zig ships it, which links with an older
glibc than this machine's."""

import platform
from pathlib import Path

from nearpeak.libraries import catalogue, glibc
from nearpeak.owners import check_kept

# Code as of other compilers: without checks, and with the C library's memcpy instead of that of
# zig's run-time library, whose rest is in bench/portable. Symbols of its libc++ take 30 MB.
AS_OTHERS = (
    *("-fno-sanitize=all", "-fno-stack-protector", "-fomit-frame-pointer"),
    *("-rtlib=none", "-s"),
)
CMAKE = "-DNEARPEAK_PORTABLE=ON"


def compiler() -> list[str]:
    """The C++ compiler as a command; installs it. UserError as catalogue.add."""
    target = f"{platform.machine()}-linux-gnu.{glibc.text(glibc.PORTABLE)}"
    program = home() / "ziglang/zig"
    check_kept(program)
    return [str(program), "c++", "-target", target, *AS_OTHERS]


def home() -> Path:
    """The folder of the compiler's installation; installs it."""
    return catalogue.add("zig")


def environment() -> dict[str, str]:
    """The variables for the folder of zig's own builds, such as the run-time library of C++."""
    kept = str(home() / "made")
    return {"ZIG_GLOBAL_CACHE_DIR": kept, "ZIG_LOCAL_CACHE_DIR": kept}
