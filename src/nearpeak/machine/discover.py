# SPDX-License-Identifier: Apache-2.0
"""Finds out what this machine is made of."""

from pathlib import Path

from nearpeak.machine.lstopo import from_lstopo, lstopo_xml
from nearpeak.machine.model import Machine
from nearpeak.machine.sysfs import from_sysfs


def discover(root: Path = Path("/")) -> Machine:
    """This machine, from lstopo where hwloc has one and else from /sys.

    Another `root` is a recorded machine (a folder or a file), always read as /sys. UserError where
    there is no /sys.
    """
    if root == Path("/") and (xml := lstopo_xml()):
        try:
            return from_lstopo(xml, root)
        except ValueError:
            pass  # an lstopo of another format; /sys says the same
    return from_sysfs(root)
