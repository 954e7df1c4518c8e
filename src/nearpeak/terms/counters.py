# SPDX-License-Identifier: Apache-2.0
"""Links whose bytes the machine counts (docs/reference/counters.md)."""

from typing import Literal, NamedTuple, get_args

LinkKind = Literal[
    "nvlink",  # all NVLinks of a GPU
    "xgmi",  # all XGMI links of a GPU
    "pcie",  # the PCIe link of a GPU
    "infiniband",  # a port of an RDMA adapter, InfiniBand or RoCE
    "slingshot",  # an adapter of Slingshot
    "network",  # an interface of the kernel's network, such as of TCP
    "loopback",  # the interface lo: TCP inside a host
]
KINDS: tuple[LinkKind, ...] = get_args(LinkKind)
LABELS: dict[LinkKind, str] = {
    "nvlink": "NVLink",
    "xgmi": "XGMI",
    "pcie": "PCIe",
    "infiniband": "InfiniBand or RoCE",
    "slingshot": "Slingshot",
    "network": "network",
    "loopback": "loopback",
}
LOOPBACK = "lo"


class Link(NamedTuple):
    """A link: of a GPU, an adapter or an interface of a host."""

    kind: LinkKind
    host: str
    name: str  # UUID of the GPU, `mlx5_0:1`, `cxi0`, `eth0`


class OnLink(NamedTuple):
    """The bytes that a link counted."""

    sent: int  # by the GPU or the host that has the link
    received: int
    at_least: bool = False  # its counter may have wrapped unseen
