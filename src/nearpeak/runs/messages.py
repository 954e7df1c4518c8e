# SPDX-License-Identifier: Apache-2.0
"""Lines for the user before, beside and after the tables, and the one question to the user."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, TextIO

from nearpeak.errors import RefusedError, UserError
from nearpeak.numbers import printable

if TYPE_CHECKING:
    from nearpeak.launching.single import Single
    from nearpeak.libraries.library import Library
    from nearpeak.machine.machine import Diagnosis

CHECK_SECONDS = 60.0  # for a program to look at its command line


def say(line: str) -> None:
    """Prints a line for the user on stderr."""
    print(printable(line), file=sys.stderr, flush=True)


def tell(line: str) -> None:
    """Prints a line for the user on stdout."""
    print(printable(line), flush=True)


def show(lines: Iterable[str], to: TextIO) -> None:
    """Prints lines together; nothing if there are none."""
    if text := "\n".join(map(printable, lines)):
        print(text, file=to, flush=True)


def agreed(question: str) -> bool:
    """Asks on a terminal, and returns whether the answer is yes; False where nobody can answer."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    print(f"{printable(question)} [y/N]: ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def warn(diagnoses: "Iterable[Diagnosis]", to: TextIO, libraries: "Iterable[Library]") -> None:
    """Prints what doctor found bad, before anything is measured; files with settings only if one of
    the `libraries` may read them."""
    from nearpeak.libraries.variables import may_read
    from nearpeak.machine.doctor import SETTINGS_FILE

    families = {*map(_family, libraries)}
    bad = [
        diagnosis
        for diagnosis in diagnoses
        if diagnosis.severity == "bad"
        and (
            diagnosis.id != SETTINGS_FILE
            or any(may_read(family, diagnosis.settings_prefix) for family in families)
        )
    ]
    show((f"machine:    {diagnosis.message}; {diagnosis.hint}" for diagnosis in bad), to)


def say_lacking(library: "Library") -> None:
    """Prints what was left out of a library, if anything, and its modules that do not load."""
    from nearpeak.libraries.library import lacking_words
    from nearpeak.libraries.whole import faults, not_whole

    if library.lacks:
        say(f"nearpeak: {lacking_words(library.name, library.lacks)}")
    for fault in faults(library):
        say(f"nearpeak: {not_whole(library, fault)}")


def say_inherited(library: "Library", given: Mapping[str, str]) -> None:
    """Prints the shell's variables that are settings of this library, except those that the launch
    sets itself: with them the library is not measured with its own settings."""
    from nearpeak.libraries.variables import may_read
    from nearpeak.machine.doctor import settings_in

    family = _family(library)
    inherited = [
        f"{name}={value}"
        for name, value in sorted(settings_in(os.environ).items())
        if may_read(family, name) and given.get(name, value) == value
    ]
    if inherited:
        say(
            f"nearpeak: inherited from your shell, and not {library.name}'s own settings:"
            f" {' '.join(inherited)}; unset them to measure the library as it is"
        )


def _family(library: "Library") -> str:
    """The family as `may_read` knows it."""
    from nearpeak.libraries.families import is_ceiling

    return "" if is_ceiling(library) else library.family


def introduce(chosen: "Single") -> None:
    """Prints the path of single launches, and all that may spoil their figures."""
    say(f"Path {chosen.path.id}: {chosen.path.summary}")
    say_lacking(chosen.library)
    warn(chosen.diagnoses, sys.stderr, [chosen.library])
    say_inherited(chosen.library, chosen.line([]).env)


def check_words(chosen: "Single", arguments: Sequence[str], command: str) -> None:
    """Has the program check its command line, before a launcher wraps its answer in its own, and
    prints the answer. A hint to the program's help becomes one to that of `nearpeak COMMAND`.
    RefusedError with the program's exit status; UserError where it crashes or hangs."""
    from nearpeak.launching import programs
    from nearpeak.libraries.launch import environment

    if chosen.native:
        return
    benchmark = chosen.benchmark.name
    program = programs.TOOLS.mpi_program(chosen.library)
    try:
        done = subprocess.run(
            [str(program), "--check", *chosen.program_options(arguments)],
            env={**os.environ, **environment(chosen.library)},
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            timeout=CHECK_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise UserError(
            f"{chosen.library.name} does not even start its program within {CHECK_SECONDS:g} s: "
            "look at what it loads"
        ) from None
    output = done.stderr.decode(errors="replace")
    pattern = rf"see nearpeak-mpi(?: {benchmark})? --help"
    sys.stderr.write(re.sub(pattern, f"see nearpeak {command} {benchmark} --help", output))
    if done.returncode < 0:
        raise UserError(
            f"{chosen.library.name}'s program is ended by {signal.Signals(-done.returncode).name}"
            " as it starts: look at what it loads"
        )
    if done.returncode:
        raise RefusedError(done.returncode)
