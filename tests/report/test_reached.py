# SPDX-License-Identifier: Apache-2.0
"""A study without messages has a first sentence of its own figures."""

from pathlib import Path

import pytest

from nearpeak.report.reached import sentences
from nearpeak.results.build import from_json
from nearpeak.results.results import Results

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.parametrize(
    ("recording", "text"),
    [
        (
            "h200x2-halo",
            "On host1, jacobi2d reaches 61.0 to 66.7 % of its roofline, the most with"
            " openmpi+layer.",
        ),
        (
            "h200x4-scaling",
            "Unconfirmed, as launches are few: on host1, jacobi2d reaches 84.5 to 96.8 % of its"
            " roofline, with openmpi+layer.",
        ),
        (
            "h200x2-families",
            "On host1, the best MPI library reaches from 0.0141 % of the bound in hindexed at 1 MiB"
            " (mpich+layer) to 90.6 % in put_latency at 64 KiB (mpich+layer). Largest confirmed"
            " difference: acc_latency D,D at 8 B, mpich+layer 3.63x as fast as intel.",
        ),
        (
            "h200x4-collectives",
            "Unconfirmed, as launches are few: on vm, the best MPI library reaches from 4.27 % of"
            " the bound in allreduce at 64 KiB on gpu x4 (openmpi+layer) to 67.1 % in"
            " reduce_scatter_block at 16 MiB on gpu-gpu nvlink (openmpi+layer).",
        ),
    ],
)
def test_recordings_have_a_sentence(recording: str, text: str) -> None:
    results = from_json((EXAMPLES / recording / "results.json").read_bytes())
    assert sentences(results) == text


def test_without_figures_there_is_none(plain: Results) -> None:
    plain.cells, plain.comparisons, plain.applications = [], [], []
    assert sentences(plain) == ""
