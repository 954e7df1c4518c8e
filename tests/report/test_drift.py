# SPDX-License-Identifier: Apache-2.0
"""What is said of the paths from block to block."""

import msgspec
import pytest

from nearpeak.observations.observed import Block
from nearpeak.report import drift
from nearpeak.results.results import AtDistance, Results
from nearpeak.terms.identity import Case

SIX = [Block(0, number) for number in range(6)]


@pytest.mark.parametrize(
    ("places", "words"),
    [
        ([3], "block 4"),
        ([0, 1], "blocks 1 and 2"),
        ([3, 4, 5], "blocks 4 to 6"),
        ([0, 2, 5], "blocks 1, 3 and 6"),
    ],
)
def test_blocks_are_counted_as_people_do(places: list[int], words: str) -> None:
    assert drift.block_words([SIX[place] for place in places], SIX) == words


def test_blocks_of_several_sessions_say_so() -> None:
    blocks = [*SIX, *(Block(1, number) for number in range(5, 9))]
    assert drift.block_words(blocks[4:], blocks) == (
        "blocks 5 and 6 of session 1 and blocks 6 to 9 of session 2"
    )


def test_the_strip_has_a_sign_and_marks_what_changed(results: Results) -> None:
    first = results.drift[0]
    first.deviations[1] = -1e-6  # no minus before a zero
    assert drift.strip(first)[1:4] == [("+0.0", False), ("−0.2", False), ("−27.0", True)]


def test_each_path_that_changed_has_a_line_and_too_few_blocks_are_told(results: Results) -> None:
    assert drift.sentences(results) == [
        "host-host same-numa: blocks 4 to 6 carried 28.0 % less than the others.",
        "1 path has fewer than 4 blocks: too few to tell.",
    ]
    results.drift = results.drift[1:]
    results.drift[0].tells_from = 0.123
    assert drift.sentences(results)[0] == (
        "1 path: no change over time was seen. A change of less than 12.3 % would mostly be missed,"
        " as blocks differ so much."
    )
    loud = msgspec.structs.replace(
        results.drift[0],
        tells_from=5.1,
        widest=6.25,
        widest_case=Case(benchmark="bw", metric="bw", buffers="H,H", axes={}, x=1 << 20),
    )
    results.drift.insert(0, loud)
    assert drift.sentences(results)[:2] == [
        "2 paths: no change over time was seen. A change of less than a factor of 6.10 on"
        f" {loud.place.path} would mostly be missed, as blocks differ so much.",
        "Only what most ceilings of a path have in common is judged. The best and the worst block"
        f" of a single one differ by a factor of up to 6.25 ({loud.place.path}, bw at 1 MiB).",
    ]
    results.drift = []
    assert drift.sentences(results) == []


def test_distances_of_the_cpus_and_the_range_of_ceilings_are_told(results: Results) -> None:
    first = results.drift[0]
    first.step_range = (-0.5, 0.125)
    first.distances = [
        AtDistance(ns=(60.1, 64.0), blocks=SIX[:3], deviation=0.2, range=(-0.1, 2.5)),
        AtDistance(ns=(300.0, 300.2), blocks=SIX[3:], deviation=-0.08, range=(-0.3, 0.1)),
    ]
    assert drift.sentences(results)[0] == (
        "host-host same-numa: blocks 4 to 6 carried 28.0 % less than the others, between CPUs that"
        " were mostly at another distance (single ceilings: from 50.0 % less to 12.5 %"
        " more)."
    )
    assert drift.sentences(results)[-3:-1] == [
        "host-host same-numa: in 3 of 6 blocks its CPUs were 60.0 to 64.0 ns apart. It then"
        " carried 20.0 % more than in the median block (single ceilings: from 10.0 % less to"
        " 250.0 % more).",
        "host-host same-numa: in 3 of 6 blocks its CPUs were 300 ns apart. It then carried 8.0 %"
        " less than in the median block (single ceilings: from 30.0 % less to 10.0 % more).",
    ]
    assert "a hypervisor moved them" in drift.sentences(results)[-1]
    first.distances = []
    assert not any("hypervisor" in line for line in drift.sentences(results))


@pytest.mark.parametrize(
    ("step_range", "words"),
    [((-2e-7, 0.4), "0 % less to 40.0 % more"), ((-0.03, 0.001), "3.0 % less to 0.1 % more")],
)
def test_what_is_rounding_is_no_change(
    results: Results, step_range: tuple[float, float], words: str
) -> None:
    path = msgspec.structs.replace(results.drift[0], changed=[SIX[2]], blocks=SIX, step=-0.2)
    path.step_range = step_range
    results.drift = [path]
    assert f"(single ceilings: from {words})" in " ".join(drift.sentences(results))
