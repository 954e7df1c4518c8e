# SPDX-License-Identifier: Apache-2.0
"""Errors of GPUs that NVIDIA's driver writes into the messages of the kernel: Xids."""

import re
from collections import Counter, defaultdict

# `NVRM: Xid (PCI:0000:3b:00): 79, pid=..., GPU has fallen off the bus.`; older drivers without PCI:
XID = re.compile(r"NVRM: Xid \((?:PCI:)?([0-9a-f]{4,}:[0-9a-f]{2}:[0-9a-f]{2})[^)]*\): (\d+)", re.I)
# Of programs, and no fault of a GPU: an exception or a wrong address in a kernel, and the end of
# what ran (https://docs.nvidia.com/deploy/xid-errors).
OF_PROGRAMS = (13, 31, 43, 45)
# A row of memory was replaced, an error was contained, the advised recovery changed: a reset since
# then may have ended it, which the driver does not write (the same page).
MAYBE_OVER = (63, 94, 154)


def find_xids(messages: str) -> dict[str, Counter[int]]:
    """The numbers of the errors of each GPU, by PCI address without the function: `0000:3b:00`."""
    xids: dict[str, Counter[int]] = defaultdict(Counter)
    for address, number in XID.findall(messages):
        if int(number) not in OF_PROGRAMS:
            xids[address.lower()][int(number)] += 1
    return dict(xids)
