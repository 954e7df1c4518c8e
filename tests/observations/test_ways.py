# SPDX-License-Identifier: Apache-2.0
"""Which way messages go with the layer."""

from nearpeak.observations.ways import Step, alike


def test_sizes_that_go_alike_are_together() -> None:
    steps = [Step(1 << n, way, 1.0) for n, way in enumerate("aabac")]
    groups = [[step.size_bytes for step in group] for group in alike(steps)]
    assert groups == [[1, 2], [4], [8], [16]]
