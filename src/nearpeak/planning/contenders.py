# SPDX-License-Identifier: Apache-2.0
"""The first stage of a plan: chooses the libraries to measure, and their settings."""

from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec

from nearpeak.errors import UserError
from nearpeak.grouping import firsts
from nearpeak.libraries import nccl
from nearpeak.libraries.discover import UnknownNameError, find_libraries, resolve
from nearpeak.libraries.given import check_unset
from nearpeak.libraries.launch import check_launcher
from nearpeak.libraries.library import Contender, Library, Settings
from nearpeak.libraries.profiles import is_profile
from nearpeak.libraries.settings import find
from nearpeak.libraries.whole import faults, not_whole
from nearpeak.machine.machine import Machine
from nearpeak.planning.options import LibraryChoice


def choose_contenders(
    choices: Sequence[LibraryChoice], say: Callable[[str], None]
) -> list[Contender]:
    """Returns the libraries asked for with their settings; without any, every installed library
    that can be started here.

    UserError for one that cannot be had or started.
    """
    if not choices:
        return _with_defaults(_startable(say))
    contenders: list[Contender] = []
    for choice in choices:
        try:
            library = resolve(choice.mpi)
        except nccl.MissingError as error:
            if len(choices) == 1:
                raise
            say(f"{error}; the others are measured without it")
            continue
        check_launcher(library)
        if choice.name:
            library = msgspec.structs.replace(library, name=choice.name)
        contenders += [
            Contender(library=library, settings=_settings(library, chosen, say))
            for chosen in choice.settings
        ]
    return contenders


def _startable(say: Callable[[str], None]) -> list[Library]:
    """Returns every installed library whose ranks can be started here; UserError for none."""
    startable = [library for library in find_libraries() if _starts(library, say)]
    if not startable:
        raise UserError(
            "no MPI library was found that starts here: install one with "
            "`nearpeak mpi add openmpi`, or name one with --mpi PATH"
        )
    return startable


def _with_defaults(libraries: Iterable[Library]) -> list[Contender]:
    return [Contender(library=library, settings=Settings()) for library in libraries]


def _settings(library: Library, chosen: Settings | str, say: Callable[[str], None]) -> Settings:
    if isinstance(chosen, str):
        return find(library, chosen, say)
    check_unset(library, chosen)
    return chosen


def check_modules(
    contenders: Sequence[Contender], machine: Machine, say: Callable[[str], None]
) -> list[Contender]:
    """Returns the contenders with the modules of their libraries that do not load here, and reports
    these by `say`.

    They are measured nevertheless.
    """

    def check(library: Library) -> Library:
        broken = faults(library, machine)
        for fault in broken:
            say(not_whole(library, fault))
        return msgspec.structs.replace(library, broken=[fault.what for fault in broken])

    return with_libraries(contenders, check)


def with_libraries(
    contenders: Sequence[Contender], change: Callable[[Library], Library]
) -> list[Contender]:
    """Returns the contenders with changed libraries; each library is changed once."""
    libraries = firsts((contender.library for contender in contenders), lambda it: it.name)
    changed = {name: change(library) for name, library in libraries.items()}
    return [
        msgspec.structs.replace(contender, library=changed[contender.library.name])
        for contender in contenders
    ]


def why_missing(choices: Sequence[LibraryChoice]) -> Iterator[str]:
    """Yields the reasons why named libraries are missing here. UserError for names of libraries or
    settings that no machine knows."""
    for choice in choices:
        try:
            library = resolve(choice.mpi)
        except UnknownNameError:
            raise
        except UserError as error:
            yield str(error)
            continue
        for chosen in choice.settings:
            if isinstance(chosen, str) and not is_profile(chosen):
                find(library, chosen)


def _starts(library: Library, say: Callable[[str], None]) -> bool:
    """True if its ranks can be started here; reports the reason if not."""
    try:
        check_launcher(library)
    except UserError as error:
        say(f"{error}; it is left out")
        return False
    return True


def find_nccl() -> list[Contender]:
    """Returns NCCL or RCCL, if installed: programs with GPUs use them instead of MPI."""
    return _with_defaults(firsts(nccl.discover().libraries, lambda it: it.family).values())
