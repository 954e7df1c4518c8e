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
    available = {"gpu": gpu, "network": network}
    chosen = [
        setting if gpu else _without_gpu(setting)
        for setting in offered
        if setting.there is not False
        and setting.tunable.name not in given
        and all(given.get(name, value) == value for name, value in setting.tunable.with_.items())
        and all(available[need] for need in setting.tunable.needs)
        and (
            benchmarks is None
            or not setting.tunable.benchmarks
            or set(setting.tunable.benchmarks) & set(benchmarks)
        )
    ]
    return sorted(chosen, key=lambda setting: not setting.tunable.needs)


def _without_gpu(setting: Offered) -> Offered:
    """Without the values that only buffers in a GPU need."""
    left = [value for value in setting.tunable.values if value not in setting.tunable.gpu_values]
    return setting._replace(tunable=msgspec.structs.replace(setting.tunable, values=left))


def candidates(chosen: Sequence[Offered]) -> list[Candidate]:
    """One value of each setting after the other."""
    return [
        Candidate(tuple(env.items()))
        for turn in range(max((len(setting.values) for setting in chosen), default=0))
        for setting in chosen
        if turn < len(setting.values)
        for env in [setting.tunable.env(setting.values[turn])]
    ]


def with_named(
    catalogued: Sequence[Candidate], named: Collection[tuple[str, str]], given: Collection[str]
) -> tuple[list[Candidate], int]:
    """Those that are `named` (variables with their values) first, whether they are known or not,
    and how many these are. What is set already stays so."""
    first = [
        next(
            (candidate for candidate in catalogued if candidate.env[-1] == pair), Candidate((pair,))
        )
        for pair in named
        if pair[0] not in given
    ]
    return [*first, *(candidate for candidate in catalogued if candidate not in first)], len(first)


def chosen_with(
    candidates: Sequence[Candidate], component: str, variables: Collection[str]
) -> list[Candidate]:
    """The same, each value of a component that moves none of the messages, `variables` being its
    own, with the value of another variable that chooses it by its name (`OMPI_MCA_pml=ucx`): alone
    it does nothing. Unchanged where there is none."""
    choice = next(
        (
            candidate.env
            for candidate in candidates
            if candidate.variable not in variables
            and any(value == component for _, value in candidate.env)
        ),
        (),
    )
    return [
        Candidate(tuple({**dict(choice), **dict(candidate.env)}.items()))
        if candidate.variable in variables
        else candidate
        for candidate in candidates
    ]


def idle(
    candidates: Sequence[Candidate], component: str, variables: Collection[str]
) -> list[Candidate]:
    """The values of a component that moves none of the messages, `variables` being its own; none
    where another's value chooses it by its name (`OMPI_MCA_pml=ucx`)."""
    of_component = [candidate for candidate in candidates if candidate.variable in variables]
    others = [candidate for candidate in candidates if candidate.variable not in variables]
    chosen = any(value == component for candidate in others for _, value in candidate.env)
    return [] if chosen or not others else of_component


def agreeing(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Those that set nothing otherwise than one before them, as what one needs may exclude another.
    First come values of what others need: a way that is chosen is not given up for what one of its
    alternatives could be set to."""
    needed = {name for candidate in candidates for name, _ in candidate.env[:-1]}
    env: dict[str, str] = {}
    kept = []
    for candidate in sorted(candidates, key=lambda candidate: candidate.variable not in needed):
        if all(env.get(name, value) == value for name, value in candidate.env):
            env.update(candidate.env)
            kept.append(candidate)
    return kept


def together(candidates: Sequence[Candidate]) -> Candidate:
    """Those that agree as one."""
    env = {name: value for candidate in agreeing(candidates) for name, value in candidate.env}
    return Candidate(tuple(env.items()))


def by_variable(candidates: Sequence[Candidate]) -> dict[str, list[Candidate]]:
    """The values of each variable, in their order."""
    values: dict[str, list[Candidate]] = {}
    for candidate in candidates:
        values.setdefault(candidate.variable, []).append(candidate)
    return values
