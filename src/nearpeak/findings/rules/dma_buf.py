# SPDX-License-Identifier: Apache-2.0
"""Repeated requests for a dma-buf handle of the buffer."""

from collections.abc import Iterator

from nearpeak.findings.evidence import Noticed, Rule, View
from nearpeak.findings.messages import COPIES, Message, calls, worst
from nearpeak.findings.sentences import of_message
from nearpeak.findings.settings import NO_CACHE, Setting
from nearpeak.findings.sources import Reference, of_ucx
from nearpeak.observations.explained import Part
from nearpeak.results.results import Source

LEAST = 0.1  # of the time of a message
CALLS = {"cuMemGetHandleForAddressRange", "close"}


def find(view: View) -> Iterator[Noticed]:
    """Yields messages in which these calls take `LEAST` or more."""
    yield from worst(view, _chosen, LEAST)


def _chosen(message: Message) -> list[Part]:
    parts = calls(message, CALLS)
    return parts if any(part.name != "close" for part in parts) else []


RULE = Rule(
    name="dma_buf",
    tells="The library asks the driver for a dma-buf handle of the buffer's memory for each"
    " message, or each piece of one, and closes it again: a tenth or more of a message's"
    " time. UCX asks for one at each look-up of a pointer, so at many more of them where its cache"
    " of look-ups is off.",
    find=find,
    origin="settings",
    headline="{it.short}: {it.parts}",
    sentence=of_message,
    action="Turn such handles off, unless GPUDirect RDMA needs them.",
    remedy="Turn such handles off where messages stay within hosts, or nvidia-peermem is loaded"
    " (lsmod). Leave them on where messages of device memory go between hosts by GPUDirect RDMA and"
    " it is not: there network adapters register device memory by these handles alone.",
    settings=[Setting("ucx", "UCX_CUDA_COPY_DMABUF", "n", "no handles of device memory")],
    reasons=[NO_CACHE],
    fault=COPIES,
    sources=[
        of_ucx(8581, "handles of memory are exported when it is queried"),
        Reference(
            Source(
                text="NVIDIA, GPU Operator, GPUDirect RDMA: device memory is registered by DMA-BUF"
                " of the kernel, or by nvidia-peermem",
                address="https://docs.nvidia.com/datacenter/cloud-native/gpu-operator/latest/gpu-operator-rdma.html",
            )
        ),
    ],
)
