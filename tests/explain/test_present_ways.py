# SPDX-License-Identifier: Apache-2.0
"""Which way messages go with the layer, as it is printed."""

import pytest

from nearpeak.document.terminal import print_document
from nearpeak.explain.present_ways import present
from nearpeak.observations.ways import Leg, Step, Ways


def test_sizes_that_go_alike_are_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    kernel, engine = "directly, copied by a kernel", "directly, copied by the copy engine"
    steps = [Step(64, kernel, 7.0), Step(1024, kernel, 7.25), Step(1 << 20, engine, 12.0)]
    found = Ways(
        library="mpich+layer",
        version="5.0.2",
        host="node1",
        settings={"NEARPEAK_LAYER_INLINE": "61", "NEARPEAK_LAYER_LONG": "65536"},
        kernel_bytes={1: 1 << 18},
        no_kernel="NVRTC is not there",
        failed=["D,D: it crashed"],
        legs=[
            Leg("from a device to a device", "D,D", "gpu-gpu nvlink", steps),
            Leg("from the host to a device", "H,D", "host-gpu near", [Step(8, "", 7.0)]),
        ],
    )
    print_document(present(found))
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert lines == [
        "",
        "From a device to a device, gpu-gpu nvlink",
        "",
        "Way Time",
        "Size µs",
        "64 B to 1 KiB directly, copied by a kernel 7.00 to 7.25",
        "1 MiB directly, copied by the copy engine 12.0",
        "",
        "From the host to a device, host-gpu near",
        "",
        "mean of there and back",
        "Way Time",
        "Size µs",
        "8 B not told 7.00",
        "",
        "Failed: D,D: it crashed",
        "No kernel copies: NVRTC is not there",
        "Measured meanwhile: of what rank 1 sends between devices a kernel copies up to 256 KiB,"
        " the copy engine what is longer.",
        "",
        "mpich+layer 5.0.2 on node1, decided by (docs/layer.md): NEARPEAK_LAYER_INLINE=61"
        " NEARPEAK_LAYER_LONG=65536",
    ]
