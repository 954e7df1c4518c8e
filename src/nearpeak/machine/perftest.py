# SPDX-License-Identifier: Apache-2.0
"""Whether perftest is here, whose programs measure what RDMA adapters carry."""

import shutil

PROGRAM = "ib_write_lat"
HINT = "install the package perftest on both hosts (apt-get, dnf or zypper install perftest)"


def has_perftest() -> bool:
    """Whether its programs are on PATH."""
    return shutil.which(PROGRAM) is not None
