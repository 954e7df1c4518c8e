# SPDX-License-Identifier: Apache-2.0
"""Errors of GPUs in messages of the kernel."""

from nearpeak.machine.gpus.xids import find_xids

# Written by hand, in the form of NVIDIA's documentation and of the open kernel modules.
MESSAGES = """\
4,1,100,-;NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  580.159.04
4,2,200,-;NVRM: Xid (PCI:0000:3B:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off
4,3,300,-;NVRM: Xid (PCI:0000:3b:00): 74, pid=7, NVLink: fatal error detected on link 11
4,4,400,-;NVRM: Xid (PCI:0000:3b:00): 74, pid=7, NVLink: fatal error detected on link 3
4,5,500,-;NVRM: Xid (PCI:0000:af:00): 31, pid=9, Ch 00000010, MMU Fault
4,6,600,-;NVRM: Xid (PCI:0000:af:00): 13, pid=9, Graphics SM Warp Exception
4,7,700,-;NVRM: Xid (0000:05:00): 48, an uncorrectable double bit error
4,8,800,-;some driver: Xid (PCI:0000:af:00): 79
"""


def test_errors_by_gpu_without_those_of_programs() -> None:
    assert find_xids(MESSAGES) == {"0000:3b:00": {79: 1, 74: 2}, "0000:05:00": {48: 1}}
    assert find_xids("") == {}
