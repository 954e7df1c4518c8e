# SPDX-License-Identifier: Apache-2.0
"""The reasons for each variable and flag that Nearpeak gives launches: given.toml."""

import functools
import os
from collections.abc import Iterator, Sequence
from importlib import resources
from typing import Literal, NamedTuple

import msgspec

from nearpeak.errors import UserError, closest
from nearpeak.libraries import catalogue
from nearpeak.libraries.families import all_families, is_native
from nearpeak.libraries.launch import launcher_of
from nearpeak.libraries.library import Library, Settings

# There is no word for "changes figures": that is named settings (settings.toml), and never given.
Class = Literal["needed", "harmless", "unproven"]
OF_ALL = "launch"  # the owner of what Nearpeak gives launches of any library
BINDS = "taskset"  # the program that binds each rank
_TWO_VALUES = ("--mca", "--prtemca", "--setopt")  # a parameter's name is a part of the flag's


class Justification(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """The class, reason and proof of a variable or flag that Nearpeak gives launches."""

    kind: Class = msgspec.field(name="class")
    reason: str
    # A test, or a row of a recording of benchmarks/given_variables.py:
    # "FILE#LIBRARY, LAUNCH, NAME". Empty: unproven.
    proof: str = ""


class Given(NamedTuple):
    """One variable or flag, as the launches of one owner have it."""

    owner: str  # "launch", "library NAME", "family NAME" or "launcher NAME"
    occasion: str  # "always", or another key of OCCASIONS
    name: str
    value: str  # as it is given; "": it depends on the launch
    why: Justification


OCCASIONS = {
    "always": "",
    "gpu": "device buffers",
    "network": "TCP between ranks of one host",
    "hosts": "several hosts",
    "adapter": "paths of one network adapter",
    "job": "in a job of a scheduler",
    "root": "as root",
    "layer": "with the layer",
    "traced": "applications under `nearpeak trace` or `layer`",
}


@functools.cache
def reasons() -> dict[str, dict[str, dict[str, Justification]]]:
    """The justifications of given.toml, by owner, occasion and name."""
    text = (resources.files("nearpeak.libraries") / "given.toml").read_text("utf-8")
    return msgspec.toml.decode(text, type=dict[str, dict[str, dict[str, Justification]]])


class Assignment(NamedTuple):
    """A variable or flag that stands in the catalogue or in a family."""

    owner: str
    occasion: str
    name: str
    value: str


def set_by(library: Library) -> Iterator[Assignment]:
    """The variables and flags from the library's entry in the catalogue, and from its family."""
    family = all_families()[library.family]
    of_family = f"family {family.name}"
    if library.entry:
        entry, owner = catalogue.entry(library.entry), f"library {library.entry}"
        yield from _assignments(owner, "always", Settings(env=entry.environment))
        yield from _assignments(owner, "network", Settings(env=entry.network))
    always = {**family.unbound, **family.environment(library)}
    yield from _assignments(of_family, "always", Settings(env=always))
    yield from _assignments(of_family, "gpu", family.gpu or Settings())
    if library.network_only is None:
        yield from _assignments(of_family, "network", family.network_only or Settings())


def explained(library: Library) -> list[Given]:
    """Each variable and flag that some launch of a library gets from Nearpeak, with its reason."""
    if is_native(library):
        return []
    values = {(item.owner, item.occasion, item.name): item.value for item in set_by(library)}
    everywhere = OF_ALL, f"launcher {launcher_of(library)}"
    owners = OF_ALL, f"library {library.entry}", f"family {library.family}", everywhere[1]
    return [
        Given(owner, occasion, name, values.get((owner, occasion, name), ""), justification)
        for owner in owners
        for occasion, names in reasons().get(owner, {}).items()
        for name, justification in names.items()
        if owner in everywhere or (owner, occasion, name) in values
    ]


def fixed(library: Library) -> dict[str, str]:
    """The variables of a library that a search must not change.

    It may change those from the catalogue that are harmless or unproven.
    """
    justifications = reasons().get(f"library {library.entry}", {}).get("always", {})
    free = {
        name for name, justification in justifications.items() if justification.kind != "needed"
    }
    return {name: value for name, value in library.env.items() if name not in free}


def dispensable(library: Library) -> list[Given]:
    """The variables from the library's entry and its family that launches may do without.

    Variables that are needed, or that force the network for a path, are not among them.
    """
    stated = [entry for entry in explained(library) if entry.occasion != "network"]
    needed = {entry.name for entry in stated if entry.why.kind == "needed"}
    its_own = [entry for entry in stated if entry.owner.startswith(("library", "family"))]
    variables = [entry for entry in its_own if not entry.name.startswith("-")]
    return [entry for entry in variables if entry.name not in needed]


def check_unset(library: Library, settings: Settings) -> None:
    """UserError where settings leave out a variable that launches of the library need, that
    Nearpeak does not give them, or that they inherit from the user's shell."""
    free = [entry.name for entry in dispensable(library)] if settings.unset else []
    for name in settings.unset:
        reasons = [entry.why for entry in explained(library) if entry.name == name]
        reasons.sort(key=lambda justification: justification.kind != "needed")
        if not reasons:
            problem = f"Nearpeak gives it no launch of {library.name}{closest(name, free)}"
        elif name not in free:
            problem = f"the path, the launcher or the library needs it ({reasons[0].reason})"
        elif name in os.environ:
            problem = "launches inherit it from your shell: unset it there"
        else:
            continue
        raise UserError(f"settings {settings.name!r} cannot leave out {name}: {problem}")


class Flag(NamedTuple):
    """A flag of a launcher, and its part of the line: `--map-by`, `["--map-by", "slot"]`."""

    name: str
    words: list[str]


def flags(argv: Sequence[str], program: Sequence[str]) -> list[Flag]:
    """The flags of a launch line before `program`, which ranks run, and the binding of ranks."""
    first = next(index for index, word in enumerate(argv) if word in (BINDS, "sh", program[0]))
    starts = [index for index in range(1, first) if argv[index].startswith("-")]
    groups = [
        list(argv[begin:end]) for begin, end in zip(starts, [*starts[1:], first], strict=True)
    ]
    binding = list(argv[first : argv.index(program[0])])
    return [Flag(_name(group), group) for group in groups] + [Flag(BINDS, binding)] * bool(binding)


def _name(fragments: Sequence[str]) -> str:
    """`--mca pml` of `--mca pml ob1`, `--nodes` of `--nodes=2`."""
    flag, mark, value = fragments[0].partition("=")
    if flag in _TWO_VALUES:
        return f"{flag} {fragments[1]}" if not mark else f"{flag} {value.partition('=')[0]}"
    return flag


def _assignments(owner: str, occasion: str, settings: Settings) -> Iterator[Assignment]:
    for name, value in settings.env.items():
        yield Assignment(owner, occasion, name, value)
    if settings.flags:
        for flag in flags(["launcher", *settings.flags, "program"], ["program"]):
            yield Assignment(owner, occasion, flag.name, " ".join(flag.words))
