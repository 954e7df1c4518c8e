# SPDX-License-Identifier: Apache-2.0
"""The one door to observations, whatever they come from."""

from pathlib import Path

from nearpeak.errors import UserError
from nearpeak.observations.observed import Observations
from nearpeak.observations.printed import STANDARD_INPUT, Printed, read
from nearpeak.observations.source import Title, Tool, in_words
from nearpeak.observations.sources import all_tools, study
from nearpeak.terms.sizes import quoted

NAMED = 4  # runs of a file, in an error


def load(place: Path) -> Observations:
    """What is observed in a folder, a file, or standard input (`-`); UserError where nothing is, or
    it cannot be read."""
    if place.is_dir():
        return study.load(place)
    if place != STANDARD_INPUT and not place.exists():
        raise UserError(f"{place}: no such folder; give the folder that `nearpeak study` wrote")
    return load_printed(read(place))


def load_printed(printed: Printed) -> Observations:
    """What a tool printed; UserError where it is of none, of several, or cannot be read."""
    runs = {tool.name: titles for tool in all_tools() if (titles := tool.titles(printed))}
    if not runs:
        raise _of_no_tool(printed)
    [tool, *others] = [tool for tool in all_tools() if tool.name in runs]
    titles = sorted(title for own in runs.values() for title in own)
    if others or (len(titles) > 1 and not tool.several):
        raise _of_several(printed, titles)
    return tool.load(printed)


def _of_several(printed: Printed, titles: list[Title]) -> UserError:
    more = f" and {len(titles) - NAMED} more" if len(titles) > NAMED else ""
    return UserError(
        f"{printed.file} is of {len(titles)} runs, {in_words(titles[:NAMED])}{more}: give the"
        " output of each in its own file"
    )


def _of_no_tool(printed: Printed) -> UserError:
    """With what is missing, where a table stands there without its title."""
    for number, line in enumerate(printed.lines, 1):
        for tool in all_tools():
            if tool.heading and _begins(line, tool):
                return UserError(
                    f"{printed.file}, line {number}: {quoted(line)} heads a table of"
                    f" {tool.name}, and the title of the program is missing: add a line like"
                    f" {tool.title!r} above it"
                )
    known = ", ".join(tool.name for tool in all_tools())
    return UserError(
        f"{printed.file} holds no observations: give a folder of `nearpeak study`, or the output of"
        f" {known}"
    )


def _begins(line: str, tool: Tool) -> bool:
    return " ".join(line.split()).startswith(tool.heading)
