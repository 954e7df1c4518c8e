# SPDX-License-Identifier: Apache-2.0
"""The nodes that stopped a launch."""

import sys

from nearpeak.nodes.stopped import stopped

made = sys.modules["made_nodes"]  # loaded by tests/conftest.py
NO_DEVICE = "there is no device '1': give the index or the UUID of one of 0 (GPU-1)"


def test_nodes_that_lack_the_same_are_named_together() -> None:
    of = made.chosen(8, **made.rails(2))
    text = stopped(of, {3: NO_DEVICE, 7: NO_DEVICE, 9: NO_DEVICE, 10: "no driver", 11: "no driver"})
    assert text == (
        "4 of 8 nodes stopped it: n1, n3 and n4 (GPU 1: there is no device '1'); n5 (no driver):"
        " repair them, or measure without them"
    )


def test_a_node_that_lacks_several_things_is_named_with_each() -> None:
    of = made.chosen(4, **made.rails(3))
    adapter = "there is no adapter mlx5_0:1, but mlx5_2:1: give another to --adapters"
    text = stopped(of, {3: adapter, 4: NO_DEVICE, 5: NO_DEVICE})
    assert text == (
        "1 of 4 nodes stopped it: n1 (GPU 0: there is no adapter mlx5_0:1, but mlx5_2:1;"
        " GPU 1 and GPU 2: there is no device '1'): repair it, or measure without it"
    )


def test_without_gpus_a_rank_is_its_node() -> None:
    text = stopped(made.chosen(4), {2: "no memory"})
    assert text == ("1 of 4 nodes stopped it: n2 (no memory): repair it, or measure without it")
