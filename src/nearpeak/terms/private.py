# SPDX-License-Identifier: Apache-2.0
"""The marks of fields: what a text in a record may tell of a host, a user or a site.

`nearpeak publish` treats a text by the mark of its field, and one without a mark as free text. Each
text of a struct that is published has a mark (tests/publish/test_marked.py), but for paths (`Path`)
and the values of a `Literal`.
"""

import re
from typing import Annotated, Any, Literal, TypeAlias

from msgspec import Meta

Mark = Literal["public", "kept", "release", "text", "host", "gpu", "folder", "variables"]
KEY = "private"  # under which msgspec keeps the mark with a type

# A word of Nearpeak's, of vendors or of libraries, a version, a digest, a time: copied as it is.
Public: TypeAlias = Annotated[str, Meta(extra={KEY: "public"})]
# The same, and texts may hold it too: the id of a path, or a version that looks like an address.
Kept: TypeAlias = Annotated[str, Meta(extra={KEY: "kept"})]
# A message, a command line, a name that a user gave: searched for the names of all fields.
FreeText: TypeAlias = Annotated[str, Meta(extra={KEY: "text"})]
# Free text whose last word is a version, which texts may hold.
Release: TypeAlias = Annotated[str, Meta(extra={KEY: "release"})]
HostName: TypeAlias = Annotated[str, Meta(extra={KEY: "host"})]
GpuUuid: TypeAlias = Annotated[str, Meta(extra={KEY: "gpu"})]
# Environment variables: their values stay where Nearpeak knows the name, or anybody may have them.
Variables: TypeAlias = Annotated[dict[str, str], Meta(extra={KEY: "variables"})]
# Facts of any kind: the name of a host under `host`, all other texts free.
Facts: TypeAlias = Annotated[dict[FreeText, Any], Meta(extra={KEY: "text"})]

# The end of a name of an interface or RDMA device that systemd or rdma-core made of its MAC address
# or GUID: `enxa4bf012f3310`, `rocex1070fd0300b5eb54` (rdma-core, kernel-boot/rdma_rename.c).
HARDWARE_ADDRESS = r"x[0-9a-f]{12,16}(?![A-Za-z0-9])"


def without_address(name: str, number: int) -> str:
    """The name of an interface, device or port with this number instead of a hardware address."""
    return re.sub(HARDWARE_ADDRESS, f"x{number}", name)
