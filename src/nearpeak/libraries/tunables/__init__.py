# SPDX-License-Identifier: Apache-2.0
"""The settings that are worth a try, one by one: COMPONENT.toml, and COMPONENT.py, which asks an
installation which of them it has (docs/adding-a-library.md).

A component is what reads the variables: a library itself, or what it moves its messages with (UCX).
"""

import functools
import importlib
import importlib.util
import os
from collections.abc import Mapping
from importlib import resources
from typing import Literal, NamedTuple

import msgspec

from nearpeak.libraries.families import all_families
from nearpeak.libraries.given import Given, dispensable
from nearpeak.libraries.identify import CannotIdentify
from nearpeak.libraries.library import UNSET, Library
from nearpeak.libraries.tunables.answer import Answer

Need = Literal["gpu", "network"]


class Threshold(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """A size in bytes between two protocols: how each of them is forced for all messages."""

    short: str  # the value with which all go as short ones do,
    long: str  # and as long ones do
    written: str = "{}"  # a value, with `{}` for the bytes
    most: int | None = None  # bytes up to which short ones can go so; None: any


class Ruled(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """How a library's file of rules (libraries/rules.py) says the same for some sizes alone."""

    operation: int  # as the library counts collective operations
    whole: bool = False  # its sizes are those of the blocks of all ranks together
    # Its values are bytes of the parts in which the algorithm in `with` sends; else algorithms.
    segment: bool = False


class Tunable(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """One environment variable with the values that are worth a try."""

    name: str
    component: str
    summary: str  # what it decides, in a line
    values: list[str] = []  # other than the default; none: `file`
    file: str = ""  # the name of the file that it is set to, which a search writes
    gpu_values: list[str] = []  # of these, those that matter with a buffer in a GPU alone
    # Of these, those with which ranks on different hosts do not reach each other.
    one_host_values: list[str] = []
    default: str = ""  # as documented
    since: str = ""  # the version of the component that has it first, where that is known
    # Where it has an effect. "gpu": on a buffer in a GPU; "network": between hosts; none: always.
    needs: list[Need] = []
    benchmarks: list[str] = msgspec.field(default=[], name="for")  # these alone; none: all
    with_: dict[str, str] = msgspec.field(default={}, name="with")  # else it has no effect
    # The value that follows from ceilings (tune/calibrate.py): `{memcpy MiB/s}MBps`.
    calibrated: str = ""
    threshold: Threshold | None = None  # where tune/thresholds.py measures both
    ruled: Ruled | None = None  # where tune/rules.py measures all values
    breaks: str = ""  # what may stop working with it
    source: str  # where that was read

    def env(self, value: str) -> dict[str, str]:
        """The variables that set it to a value."""
        return {**self.with_, self.name: value}


class Offered(NamedTuple):
    """A setting, beside what an installation says of it."""

    tunable: Tunable
    there: bool | None  # None: the installation cannot be asked
    default: str  # as the installation says, else as documented
    numbers: Mapping[str, int] = {}  # of words that are values, as the installation counts them

    @property
    def values(self) -> list[str]:
        """Those that are worth a try here."""
        return [value for value in self.tunable.values if value != self.default]


@functools.cache
def of_component(component: str) -> list[Tunable]:
    """The settings of a component, as its file lists them."""
    text = (resources.files(__name__) / f"{component}.toml").read_text("utf-8")
    tables = msgspec.toml.decode(text, type=dict[str, dict[str, object]])
    return [
        msgspec.convert({**table, "name": name, "component": component}, Tunable)
        for name, table in tables.items()
    ]


def components(library: Library) -> tuple[str, ...]:
    """What reads the variables that a library's messages depend on."""
    family = all_families().get(library.family)
    return family.components if family else ()


def known(library: Library) -> list[Tunable]:
    """The settings of all components of the library's family."""
    return [tunable for component in components(library) for tunable in of_component(component)]


def may_break(library: Library, env: Mapping[str, str]) -> list[str]:
    """What may stop working with these variables, as the catalogue knows it: `NAME, NAME: WHAT`."""
    found: dict[str, list[str]] = {}
    for tunable in known(library):
        if tunable.breaks and tunable.name in env:
            found.setdefault(tunable.breaks, []).append(tunable.name)
    return [f"{', '.join(names)}: {breaks}" for breaks, names in found.items()]


def for_one_host(library: Library, env: Mapping[str, str]) -> bool:
    """Whether ranks on different hosts do not reach each other with these variables."""
    return any(env.get(each.name) in each.one_host_values for each in known(library))


def files(library: Library, env: Mapping[str, str]) -> dict[str, str]:
    """Those of these variables that are set to a file of a library's rules, with the name that it
    is known by."""
    return {each.name: each.file for each in known(library) if each.file and each.name in env}


def installed(library: Library) -> dict[str, Answer | None]:
    """What the installation says of each component: the variables that it reads, with the values
    that they have in a launch where nothing is set; None where it cannot be asked."""
    return {component: _ask(component, library) for component in components(library)}


def versions(library: Library) -> dict[str, str]:
    """The version of each component that is no part of the library, "" where the library loads
    none; without those that cannot be asked."""
    others = [component for component in components(library) if component != library.family]
    answers = {component: _ask(component, library) for component in others}
    return {name: answer.version for name, answer in answers.items() if answer is not None}


def offered(library: Library) -> list[Offered]:
    """The settings of the library's family, each with what this installation says of it, and the
    variables that Nearpeak gives launches and nobody has proved: to be tried without, but for what
    they would inherit from the user's shell."""
    answers = installed(library)
    found = [_offered(tunable, answers[tunable.component]) for tunable in known(library)]
    given = [each for each in dispensable(library) if each.name not in os.environ]
    return [*found, *(_without(library, each) for each in given if each.why.kind == "unproven")]


def _without(library: Library, given: Given) -> Offered:
    tunable = Tunable(
        name=given.name,
        component=library.family,
        summary=f"Nearpeak gives it: {given.why.reason}",
        values=[UNSET],
        needs=["gpu"] if given.occasion == "gpu" else [],
        source="libraries/given.toml",
    )
    return Offered(tunable, True, given.value)


def _offered(tunable: Tunable, answer: Answer | None) -> Offered:
    if answer is None:
        return Offered(tunable, None, tunable.default)
    said = [answer.has(name) for name in (tunable.name, *tunable.with_)]
    there = False if False in said else None if None in said else True
    default = answer.values.get(tunable.name) or tunable.default
    return Offered(tunable, there, default, answer.numbers.get(tunable.name, {}))


def _ask(component: str, library: Library) -> Answer | None:
    name = f"{__name__}.{component}"
    if importlib.util.find_spec(name) is None:
        return None
    try:
        answer: Answer = importlib.import_module(name).ask(library)
    except CannotIdentify:
        return None
    return answer
