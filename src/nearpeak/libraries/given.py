# SPDX-License-Identifier: Apache-2.0
"""Why Nearpeak gives launches each variable and flag: given.toml."""

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


class Why(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """The class, reason and proof of a variable or flag that Nearpeak gives launches."""

    kind: Class = msgspec.field(name="class")
    reason: str
    # A test, or a row of a recording of benchmarks/given_variables.py:
    # "FILE#LIBRARY, LAUNCH, NAME". Empty: unproven.
    proof: str = ""


class Given(NamedTuple):
    """One variable or flag, as the launches of one owner have it."""

    owner: str  # "launch", "library NAME", "family NAME" or "launcher NAME"
    occasion: str  # "always", or when alone: a key of OCCASIONS
    name: str
    value: str  # as it is given; "": it depends on the launch
    why: Why


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
def reasons() -> dict[str, dict[str, dict[str, Why]]]:
    """All of given.toml: by owner, occasion and name."""
    text = (resources.files("nearpeak.libraries") / "given.toml").read_text("utf-8")
    return msgspec.toml.decode(text, type=dict[str, dict[str, dict[str, Why]]])


class Set(NamedTuple):
    """A variable or flag that stands in the catalogue or in a family."""

    owner: str
    occasion: str
    name: str
    value: str


def set_by(library: Library) -> Iterator[Set]:
    """The variables and flags from the library's entry in the catalogue, and from its family."""
    family = all_families()[library.family]
    of_family = f"family {family.name}"
    if library.entry:
        entry, owner = catalogue.entry(library.entry), f"library {library.entry}"
        yield from _of(owner, "always", Settings(env=entry.environment))
        yield from _of(owner, "network", Settings(env=entry.network))
    always = {**family.unbound, **family.environment(library)}
    yield from _of(of_family, "always", Settings(env=always))
    yield from _of(of_family, "gpu", family.gpu or Settings())
    if library.network_only is None:
        yield from _of(of_family, "network", family.network_only or Settings())


def explained(library: Library) -> list[Given]:
    """Each variable and flag that some launch of a library gets from Nearpeak, with its reason."""
    if is_native(library):
        return []
    values = {(each.owner, each.occasion, each.name): each.value for each in set_by(library)}
    owners = [OF_ALL, f"library {library.entry}", f"family {library.family}"]
    owners.append(f"launcher {launcher_of(library)}")
    found = []
    for owner in owners:
        for occasion, names in reasons().get(owner, {}).items():
            for name, why in names.items():
                key = (owner, occasion, name)
                if key in values or not owner.startswith(("library", "family")):
                    found.append(Given(*key, values.get(key, ""), why))
    return found


def fixed(library: Library) -> dict[str, str]:
    """The variables of a library's own that a search must leave as they are. It may change those
    from the catalogue that are harmless or unproven."""
    own = reasons().get(f"library {library.entry}", {}).get("always", {})
    free = {name for name, why in own.items() if why.kind != "needed"}
    return {name: value for name, value in library.env.items() if name not in free}


def dispensable(library: Library) -> list[Given]:
    """The variables from the library's entry and its family that launches may do without: none
    that is needed, and none that forces the network, as the path means that."""
    stated = [each for each in explained(library) if each.occasion != "network"]
    needed = {each.name for each in stated if each.why.kind == "needed"}
    return [
        each
        for each in stated
        if each.owner.startswith(("library", "family"))
        and each.name not in needed
        and not each.name.startswith("-")
    ]


def check_unset(library: Library, settings: Settings) -> None:
    """UserError where settings leave out a variable that launches of the library need, that
    Nearpeak gives none of them, or that they would inherit from the user's shell."""
    free = [each.name for each in dispensable(library)] if settings.unset else []
    for name in settings.unset:
        whys = [each.why for each in explained(library) if each.name == name]
        whys.sort(key=lambda why: why.kind != "needed")
        if not whys:
            problem = f"Nearpeak gives it no launch of {library.name}{closest(name, free)}"
        elif name not in free:
            problem = f"the path, the launcher or the library needs it ({whys[0].reason})"
        elif name in os.environ:
            problem = "launches inherit it from your shell: unset it there"
        else:
            continue
        raise UserError(f"settings {settings.name!r} cannot leave out {name}: {problem}")


class Flag(NamedTuple):
    """A flag of a launcher with its values: `--map-by`, as the line has it."""

    name: str
    words: list[str]


def flags(argv: Sequence[str], program: Sequence[str]) -> list[Flag]:
    """Those of a launch line, whose ranks run `program`: what stands before it, and that each rank
    is bound."""
    first = next(at for at, word in enumerate(argv) if word in (BINDS, "sh", program[0]))
    found: list[Flag] = []
    for word in argv[1:first]:
        if word.startswith("-"):
            found.append(Flag(word, [word]))
        elif found:
            found[-1].words.append(word)
    named = [Flag(_name(flag.words), flag.words) for flag in found]
    bound = argv[first] != program[0]
    return [*named, *([Flag(BINDS, list(argv[first : argv.index(program[0])]))] * bound)]


def _name(words: Sequence[str]) -> str:
    """`--mca pml` of `--mca pml ob1`, `--nodes` of `--nodes=2`."""
    flag, mark, value = words[0].partition("=")
    if flag in _TWO_VALUES:
        return f"{flag} {words[1]}" if not mark else f"{flag} {value.partition('=')[0]}"
    return flag


def _of(owner: str, occasion: str, settings: Settings) -> Iterator[Set]:
    for name, value in settings.env.items():
        yield Set(owner, occasion, name, value)
    if settings.flags:
        for flag in flags(["launcher", *settings.flags, "program"], ["program"]):
            yield Set(owner, occasion, flag.name, " ".join(flag.words))
