# SPDX-License-Identifier: Apache-2.0
"""Finds out what this machine is made of."""

from pathlib import Path

import msgspec

from nearpeak.machine.lstopo import from_lstopo, lstopo_xml
from nearpeak.machine.machine import Machine
from nearpeak.machine.provenance import read_provenance
from nearpeak.machine.sysfs import from_sysfs
from nearpeak.machine.tree import read_tree


def discover(root: Path = Path("/")) -> Machine:
    """This machine, from lstopo where hwloc has one and else from /sys.

    Another `root` is a recorded machine (a folder or a file), always read as /sys. UserError where
    there is no /sys.
    """
    provenance = read_provenance(read_tree(root))
    return msgspec.structs.replace(_topology(root), provenance=provenance)


def _topology(root: Path) -> Machine:
    if root == Path("/") and (xml := lstopo_xml()):
        try:
            return from_lstopo(xml, root)
        except ValueError:
            pass  # an lstopo of another format; /sys says the same
    return from_sysfs(root)
