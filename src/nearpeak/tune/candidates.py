# SPDX-License-Identifier: Apache-2.0
"""Values for a search to try: those of the catalogue that an installation has and that may
matter."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from nearpeak.libraries.library import UNSET
from nearpeak.libraries.tunables import Offered, Tunable

Env = dict[str, str]  # a value, or `UNSET`, of each variable


@dataclass(frozen=True)
class Candidate:
    """A value of a setting, or several together, added to the variables that are set anyway."""

    env: tuple[tuple[str, str], ...]

    @property
    def label(self) -> str:
        """`NAME=VALUE`, or `without NAME`, several with blanks between them."""
        return " ".join(
            f"without {name}" if value == UNSET else f"{name}={value}" for name, value in self.env
        )

    @property
    def variable(self) -> str:
        """The variable that is tried; the others are set because it needs them."""
        return self.env[-1][0]


def possible(
    offered: Sequence[Offered],
    benchmarks: Collection[str] | None,
    given: Mapping[str, str],
    *,
    gpu: bool,
    network: bool,
) -> list[Offered]:
    """Returns the settings that may matter, first those with needs (a GPU, a network).

    `benchmarks`: those of the targets; None for an application, which may call any operation.
    `given`: variables that are already set and keep their values; settings that need another value
    of them are left out. `gpu`: a buffer is in a GPU. `network`: messages cross hosts.
    """
    available = {"gpu": gpu, "network": network}

    def may_matter(tunable: Tunable) -> bool:
        return (
            tunable.name not in given
            and all(given.get(name, value) == value for name, value in tunable.with_.items())
            and all(available[need] for need in tunable.needs)
            and (
                benchmarks is None
                or not tunable.benchmarks
                or not set(tunable.benchmarks).isdisjoint(benchmarks)
            )
        )

    chosen = [
        setting if gpu else _without_gpu(setting)
        for setting in offered
        if setting.there is not False and may_matter(setting.tunable)
    ]
    return sorted(chosen, key=lambda setting: not setting.tunable.needs)


def _without_gpu(setting: Offered) -> Offered:
    """Returns the setting without the values that only buffers in a GPU need."""
    left = [value for value in setting.tunable.values if value not in setting.tunable.gpu_values]
    return setting._replace(tunable=msgspec.structs.replace(setting.tunable, values=left))


def candidates(chosen: Sequence[Offered]) -> list[Candidate]:
    """Returns the first value of each setting, then the second of each, and so on."""
    most = max((len(setting.values) for setting in chosen), default=0)
    return [
        Candidate(tuple(setting.tunable.env(setting.values[turn]).items()))
        for turn in range(most)
        for setting in chosen
        if turn < len(setting.values)
    ]


def with_named(
    catalogued: Sequence[Candidate], named: Collection[tuple[str, str]], given: Collection[str]
) -> tuple[list[Candidate], int]:
    """Puts the `named` variables with their values first, also those that the catalogue lacks.
    Returns the candidates and the number of named ones. Variables in `given` are left out."""
    by_pair = {candidate.env[-1]: candidate for candidate in reversed(catalogued)}
    first = [by_pair.get(pair, Candidate((pair,))) for pair in named if pair[0] not in given]
    return [*first, *(candidate for candidate in catalogued if candidate not in first)], len(first)


def chosen_with(
    candidates: Sequence[Candidate], component: str, variables: Collection[str]
) -> list[Candidate]:
    """Adds, to each value of a component that moves none of the messages, the variable that selects
    the component by its name (`OMPI_MCA_pml=ucx`): without it the value has no effect. `variables`:
    those of the component. Returns the candidates unchanged if no variable selects it."""
    choice = next(
        (
            candidate.env
            for candidate in candidates
            if candidate.variable not in variables and component in dict(candidate.env).values()
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
    """Returns the values of a component that moves none of the messages; none if another variable's
    value selects it by its name (`OMPI_MCA_pml=ucx`). `variables`: those of the component."""
    of_component = [candidate for candidate in candidates if candidate.variable in variables]
    others = [candidate for candidate in candidates if candidate.variable not in variables]
    chosen = any(value == component for candidate in others for _, value in candidate.env)
    return [] if chosen or not others else of_component


def agreeing(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Leaves out candidates that contradict an earlier one, since the needs of one may exclude
    another. Values of variables that others need come first, so that a value of a needed variable
    is not given up for a setting of an alternative."""
    needed = {name for candidate in candidates for name, _ in candidate.env[:-1]}
    env: dict[str, str] = {}
    kept = []
    for candidate in sorted(candidates, key=lambda candidate: candidate.variable not in needed):
        if all(env.get(name, value) == value for name, value in candidate.env):
            env.update(candidate.env)
            kept.append(candidate)
    return kept


def together(candidates: Sequence[Candidate]) -> Candidate:
    """Merges the candidates that agree into one."""
    env = {name: value for candidate in agreeing(candidates) for name, value in candidate.env}
    return Candidate(tuple(env.items()))


def by_variable(candidates: Sequence[Candidate]) -> dict[str, list[Candidate]]:
    """Groups the values by variable, in their order."""
    values: dict[str, list[Candidate]] = {}
    for candidate in candidates:
        values.setdefault(candidate.variable, []).append(candidate)
    return values
