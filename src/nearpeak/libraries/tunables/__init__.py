# SPDX-License-Identifier: Apache-2.0
"""The settings that are worth a try, one by one (docs/contributing/adding-a-library.md).

COMPONENT.toml lists them, and COMPONENT.py asks an installation which of them it has. A component
reads the variables: a library itself, or the library that moves its messages (UCX).
"""

import functools
import importlib
import importlib.util
import os
from collections.abc import Mapping
from importlib import resources
from typing import Literal, NamedTuple

import msgspec

from nearpeak.grouping import collected
from nearpeak.libraries.families import all_families
from nearpeak.libraries.given import Given, dispensable
from nearpeak.libraries.identify import CannotIdentify
from nearpeak.libraries.library import UNSET, Library
from nearpeak.libraries.tunables.answer import Answer

Need = Literal["gpu", "network"]


class Threshold(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """A size in bytes between two protocols, with the values that force each for all messages."""

    short: str  # the value that forces the protocol of short messages,
    long: str  # and of long ones
    written: str = "{}"  # a value, with `{}` for the bytes
    most: int | None = None  # bytes up to which short ones can go so; None: any


class Ruled(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """The equivalent in a library's decision file (libraries/rules.py), for some sizes only."""

    operation: int  # as the library counts collective operations
    whole: bool = False  # its sizes are those of the blocks of all ranks together
    # Its values are bytes of the parts in which the algorithm in `with` sends; else algorithms.
    segment: bool = False


class Tunable(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """One environment variable with the values that are worth a try."""

    name: str
    component: str
    summary: str  # its effect, in a line
    values: list[str] = []  # other than the default; none: `file`
    file: str = ""  # the name of the file that it is set to, which a search writes
    gpu_values: list[str] = []  # the values that matter only with a buffer in a GPU
    # The values with which ranks on different hosts do not reach each other.
    one_host_values: list[str] = []
    default: str = ""  # as documented
    since: str = ""  # the first version of the component that has it, where that is known
    # Where it has an effect. "gpu": on a buffer in a GPU; "network": between hosts; none: always.
    needs: list[Need] = []
    benchmarks: list[str] = msgspec.field(default=[], name="for")  # these only; none: all
    with_: dict[str, str] = msgspec.field(default={}, name="with")  # else it has no effect
    # The value that follows from ceilings (tune/calibrate.py): `{memcpy MiB/s}MBps`.
    calibrated: str = ""
    threshold: Threshold | None = None  # where tune/thresholds.py measures both
    ruled: Ruled | None = None  # where tune/rules.py measures all values
    breaks: str = ""  # features that may stop working with it
    source: str  # the document of these facts

    def env(self, value: str) -> dict[str, str]:
        """The variables that set it to a value."""
        return {**self.with_, self.name: value}


def all_components() -> list[str]:
    """The names of all components."""
    files = (resources.files("nearpeak.libraries") / "tunables").iterdir()
    return sorted(file.name.removesuffix(".toml") for file in files if file.name.endswith(".toml"))


class Offered(NamedTuple):
    """A setting, with an installation's answer about it."""

    tunable: Tunable
    there: bool | None  # None: the installation cannot be asked
    default: str  # as the installation reports it, else as documented
    numbers: Mapping[str, int] = {}  # of words that are values, as the installation counts them

    @property
    def values(self) -> list[str]:
        """The values that are worth a try here."""
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
    """The components that read the variables of a library's messages."""
    family = all_families().get(library.family)
    return family.components if family else ()


def library_tunables(library: Library) -> list[Tunable]:
    """The settings of all components of the library's family."""
    return [tunable for component in components(library) for tunable in of_component(component)]


def may_break(library: Library, env: Mapping[str, str]) -> list[str]:
    """The features that may stop working with these variables: `NAME, NAME: WHAT`."""
    tunables = [tunable for tunable in library_tunables(library) if tunable.name in env]
    by_effect = collected((tunable.breaks, tunable.name) for tunable in tunables if tunable.breaks)
    return [f"{', '.join(names)}: {breaks}" for breaks, names in by_effect.items()]


def for_one_host(library: Library, env: Mapping[str, str]) -> bool:
    """True if ranks on different hosts do not reach each other with these variables."""
    tunables = library_tunables(library)
    return any(env.get(tunable.name) in tunable.one_host_values for tunable in tunables)


def files(library: Library, env: Mapping[str, str]) -> dict[str, str]:
    """The variables that are set to a library's decision file, with the file's name."""
    tunables = [tunable for tunable in library_tunables(library) if tunable.name in env]
    return {tunable.name: tunable.file for tunable in tunables if tunable.file}


def installed(library: Library) -> dict[str, Answer | None]:
    """The installation's answer for each component; None where it cannot be asked.

    An answer holds the variables that it reads, with their values in a launch without settings.
    """
    return {component: _ask(component, library) for component in components(library)}


def versions(library: Library) -> dict[str, str]:
    """The version of each component that is no part of the library; "" where it loads none.

    Components that cannot be asked are left out.
    """
    others = [component for component in components(library) if component != library.family]
    answers = {component: _ask(component, library) for component in others}
    return {name: answer.version for name, answer in answers.items() if answer is not None}


def offered(library: Library) -> list[Offered]:
    """The settings of the library's family, each with this installation's answer.

    They include the unproven variables that Nearpeak gives launches, to try launches without them,
    unless launches would inherit them from the user's shell.
    """
    answers = installed(library)
    tunables = library_tunables(library)
    offers = [_offered(tunable, answers[tunable.component]) for tunable in tunables]
    given = [entry for entry in dispensable(library) if entry.name not in os.environ]
    return [*offers, *(_without(library, entry) for entry in given if entry.why.kind == "unproven")]


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
    reads = [answer.has(name) for name in (tunable.name, *tunable.with_)]
    is_read = False if False in reads else None if None in reads else True
    default = answer.values.get(tunable.name) or tunable.default
    return Offered(tunable, is_read, default, answer.numbers.get(tunable.name, {}))


def _ask(component: str, library: Library) -> Answer | None:
    name = f"{__name__}.{component}"
    if importlib.util.find_spec(name) is None:
        return None
    try:
        answer: Answer = importlib.import_module(name).ask(library)
    except CannotIdentify:
        return None
    return answer
