# SPDX-License-Identifier: Apache-2.0
"""The one entry point for observations, whatever their source."""

import contextlib
import itertools
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from nearpeak.errors import UserError
from nearpeak.observations.clues import clues_of
from nearpeak.observations.observed import Observations
from nearpeak.observations.printed import STANDARD_INPUT, Printed, margins, read, without
from nearpeak.observations.source import Title, Tool, in_words
from nearpeak.observations.sources import all_tools, study
from nearpeak.terms.sizes import quoted

NAMED = 4  # runs of a file, in an error
MOST_MARGINS = 16  # that are tried: each takes a look at all lines


def load(place: Path) -> Observations:
    """Read a folder, a file, a pipe, or standard input (`-`); UserError if it has no observations,
    or is unreadable."""
    if place.is_dir():
        return study.load(place)
    if place != STANDARD_INPUT and not place.exists():
        raise UserError(f"{place}: no such folder; give the folder that `nearpeak study` wrote")
    return load_printed(read(place))


def load_printed(printed: Printed) -> Observations:
    """Read the output of a tool; UserError if it is of no tool, of several runs, or unreadable.

    No bytes in a file end an importer with another error: such an error is the cause of UserError.
    """
    with _refusing(printed, "the output of a tool"):
        tool, output = _tool_of(printed)
    with _refusing(printed, f"output of {tool.name}"):
        return _with_clues(tool.load(output), output)


def _with_clues(observations: Observations, output: Printed) -> Observations:
    """The observations, with what the lines around the figures say of the machine."""
    libraries = [
        replace(library, clues=clues_of(output.lines, library.who.library))
        for library in observations.libraries
    ]
    return replace(observations, libraries=libraries)


@contextlib.contextmanager
def _refusing(printed: Printed, kind: str) -> Iterator[None]:
    """Turn any error into UserError."""
    try:
        yield
    except UserError:
        raise
    except Exception as error:
        reason = " ".join(f"{type(error).__name__}: {quoted(str(error))}".split())
        raise UserError(
            f"{printed.file} cannot be read as {kind} ({reason}): give what the program printed,"
            " unchanged"
        ) from error


def _tool_of(printed: Printed) -> tuple[Tool, Printed]:
    """Find the one tool that has one run, and take off a margin that hides it."""
    for reading in _readings(printed):
        runs = [(tool, tool.titles(reading)) for tool in all_tools()]
        if with_runs := [tool for tool, titles in runs if titles]:
            titles = sorted(itertools.chain.from_iterable(titles for _, titles in runs))
            if len(with_runs) > 1 or (len(titles) > 1 and not with_runs[0].several):
                raise _of_several(printed, titles)
            return with_runs[0], reading
    raise _of_no_tool(printed)


def _readings(printed: Printed) -> Iterator[Printed]:
    """The output, then without one margin after the other."""
    yield printed
    headings = [tool.heading for tool in all_tools()]
    for before in margins(printed.lines, headings)[:MOST_MARGINS]:
        yield without(printed, before)


def _of_several(printed: Printed, titles: list[Title]) -> UserError:
    rest = f" and {len(titles) - NAMED} more" if len(titles) > NAMED else ""
    return UserError(
        f"{printed.file} is of {len(titles)} runs, {in_words(titles[:NAMED])}{rest}: give the"
        " output of each in its own file"
    )


def _of_no_tool(printed: Printed) -> UserError:
    """Name the missing title, if there is a table without one."""
    for (number, line), tool in itertools.product(enumerate(printed.lines, 1), all_tools()):
        if tool.heading.match(line):
            return UserError(
                f"{printed.file}, line {number}: {quoted(line)} heads a table of"
                f" {tool.name}, and the title of the program is missing: add a line like"
                f" {tool.title!r} above it"
            )
    names = ", ".join(tool.name for tool in all_tools())
    return UserError(
        f"{printed.file} holds no observations: give a folder of `nearpeak study`, or the output of"
        f" {names}"
    )
