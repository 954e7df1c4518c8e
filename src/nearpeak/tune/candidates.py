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
    named: Collection[tuple[str, str]] = (),
) -> list[Candidate]:
    """In the order in which they are tried: those that are `named` (variables with their values),
    then one value of each setting after the other, so that a short time has seen something of all
    of them, first of those that need what is there.

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
    chosen.sort(key=lambda each: not each.tunable.needs)
    found = [
        (each.tunable.name, each.values[turn], Candidate(tuple(env.items())))
        for turn in range(max((len(each.values) for each in chosen), default=0))
        for each in chosen
        if turn < len(each.values)
        for env in [each.tunable.env(each.values[turn])]
    ]
    found.sort(key=lambda each: each[:2] not in named)
    return [candidate for *_, candidate in found]
