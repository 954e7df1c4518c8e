# SPDX-License-Identifier: Apache-2.0
"""Finds perftest, whose programs measure the ceilings of RDMA adapters."""

import shutil

PROGRAM = "ib_write_lat"
HINT = "install the package perftest on both hosts (apt-get, dnf or zypper install perftest)"


def has_perftest() -> bool:
    """True if perftest's programs are on PATH."""
    return shutil.which(PROGRAM) is not None
