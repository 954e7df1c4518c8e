# SPDX-License-Identifier: Apache-2.0
"""What a search tries: the values of the catalogue that an installation has and that may matter."""

from collections.abc import Collection, Sequence

from nearpeak.libraries.tunables import Offered
from nearpeak.tune.search import Candidate


def candidates(
    offered: Sequence[Offered],
    benchmarks: Collection[str],
    given: Collection[str],
    *,
    gpu: bool,
    network: bool,
) -> list[Candidate]:
    """In the order in which they are tried: one value of each setting after the other, so that a
    short time has seen something of all of them.

    `benchmarks`: what is tuned for; `given`: variables that are set already, and stay so; `gpu`,
    `network`: whether a buffer is in a GPU, and whether messages cross hosts.
    """
    here = {"gpu": gpu, "network": network}
    chosen = [
        each
        for each in offered
        if each.there is not False
        and each.tunable.name not in given
        and all(here[need] for need in each.tunable.needs)
        and (not each.tunable.benchmarks or set(each.tunable.benchmarks) & set(benchmarks))
    ]
    found = []
    for turn in range(max((len(each.tunable.values) for each in chosen), default=0)):
        for each in chosen:
            values = [value for value in each.tunable.values if value != each.default]
            if turn < len(values):
                together = {**each.tunable.with_, each.tunable.name: values[turn]}
                found.append(Candidate(tuple(together.items())))
    return found
