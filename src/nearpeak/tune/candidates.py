# SPDX-License-Identifier: Apache-2.0
"""What a search tries: the values of the catalogue that an installation has and that may matter."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from nearpeak.libraries.library import UNSET
from nearpeak.libraries.tunables import Offered

Env = dict[str, str]  # a value, or `UNSET`, of each variable


@dataclass(frozen=True)
class Candidate:
    """A value of a setting, or several together: all that is set beside what is set anyway."""

    env: tuple[tuple[str, str], ...]

    @property
    def label(self) -> str:
        """`NAME=VALUE`, or `without NAME`, several with blanks between them."""
        return " ".join(
            f"without {name}" if value == UNSET else f"{name}={value}" for name, value in self.env
        )

    @property
    def variable(self) -> str:
        """Whose value it is; others are set with it."""
        return self.env[-1][0]


def possible(
    offered: Sequence[Offered],
    benchmarks: Collection[str] | None,
    given: Mapping[str, str],
    *,
    gpu: bool,
    network: bool,
) -> list[Offered]:
    """The settings that may matter, first those that need what is there.

    `benchmarks`: what is tuned for, None: an application, which may call anything; `given`:
    variables that are set already, and stay so: nothing is tried that needs another value of them;
    `gpu`, `network`: whether a buffer is in a GPU, and whether messages cross hosts.
    """
    here = {"gpu": gpu, "network": network}
    chosen = [
        each if gpu else _without_gpu(each)
        for each in offered
        if each.there is not False
        and each.tunable.name not in given
        and all(given.get(name, value) == value for name, value in each.tunable.with_.items())
        and all(here[need] for need in each.tunable.needs)
        and (
            benchmarks is None
            or not each.tunable.benchmarks
            or set(each.tunable.benchmarks) & set(benchmarks)
        )
    ]
    return sorted(chosen, key=lambda each: not each.tunable.needs)


def _without_gpu(each: Offered) -> Offered:
    """Without the values that only buffers in a GPU need."""
    left = [value for value in each.tunable.values if value not in each.tunable.gpu_values]
    return each._replace(tunable=msgspec.structs.replace(each.tunable, values=left))


def candidates(chosen: Sequence[Offered]) -> list[Candidate]:
    """One value of each setting after the other."""
    return [
        Candidate(tuple(env.items()))
        for turn in range(max((len(each.values) for each in chosen), default=0))
        for each in chosen
        if turn < len(each.values)
        for env in [each.tunable.env(each.values[turn])]
    ]


def with_named(
    known: Sequence[Candidate], named: Collection[tuple[str, str]], given: Collection[str]
) -> tuple[list[Candidate], int]:
    """Those that are `named` (variables with their values) first, whether they are known or not,
    and how many these are. What is set already stays so."""
    first = [
        next((each for each in known if each.env[-1] == pair), Candidate((pair,)))
        for pair in named
        if pair[0] not in given
    ]
    return [*first, *(each for each in known if each not in first)], len(first)


def chosen_with(
    candidates: Sequence[Candidate], component: str, variables: Collection[str]
) -> list[Candidate]:
    """The same, each value of a component that moves none of the messages, `variables` being its
    own, with the value of another variable that chooses it by its name (`OMPI_MCA_pml=ucx`): alone
    it does nothing. Unchanged where there is none."""
    choice = next(
        (
            each.env
            for each in candidates
            if each.variable not in variables and any(value == component for _, value in each.env)
        ),
        (),
    )
    return [
        Candidate(tuple({**dict(choice), **dict(each.env)}.items()))
        if each.variable in variables
        else each
        for each in candidates
    ]


def idle(
    candidates: Sequence[Candidate], component: str, variables: Collection[str]
) -> list[Candidate]:
    """The values of a component that moves none of the messages, `variables` being its own; none
    where another's value chooses it by its name (`OMPI_MCA_pml=ucx`)."""
    own = [each for each in candidates if each.variable in variables]
    others = [each for each in candidates if each.variable not in variables]
    chosen = any(value == component for each in others for _, value in each.env)
    return [] if chosen or not others else own


def agreeing(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Those that set nothing otherwise than one before them, as what one needs may exclude another.
    First come values of what others need: a way that is chosen is not given up for what one of its
    alternatives could be set to."""
    needed = {name for each in candidates for name, _ in each.env[:-1]}
    env: dict[str, str] = {}
    kept = []
    for each in sorted(candidates, key=lambda each: each.variable not in needed):
        if all(env.get(name, value) == value for name, value in each.env):
            env.update(each.env)
            kept.append(each)
    return kept


def together(candidates: Sequence[Candidate]) -> Candidate:
    """Those that agree as one."""
    env = {name: value for each in agreeing(candidates) for name, value in each.env}
    return Candidate(tuple(env.items()))


def by_variable(candidates: Sequence[Candidate]) -> dict[str, list[Candidate]]:
    """The values of each variable, in their order."""
    found: dict[str, list[Candidate]] = {}
    for candidate in candidates:
        found.setdefault(candidate.variable, []).append(candidate)
    return found
