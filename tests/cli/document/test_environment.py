# SPDX-License-Identifier: Apache-2.0
"""The list of environment variables has every one that the sources name, and no other."""

import re
from collections.abc import Iterator
from pathlib import Path

import definitions
from nearpeak.cli.document.environment import READERS, variables

PRELOAD: Path = definitions.PRELOAD
NAME = r"NEARPEAK_[A-Z0-9_]*[A-Z0-9]"
# In C++ a name in quotes is a variable, as macros have none; CMake marks variables. In Python and
# in scripts all names are variables, except the options of CMake.
PATTERNS = {
    ".cpp": rf'"({NAME})"',
    ".hpp": rf'"({NAME})"',
    ".inc": rf'"({NAME})"',
    ".c": rf'"({NAME})"',
    ".txt": rf"ENV{{({NAME})}}",
    ".py": rf"(?<!-D)\b({NAME})\b",
    ".sh": rf"\b({NAME})\b",
}
PRELOADED = ("layer", "trace", "explain", "queries")


def sources() -> Iterator[Path]:
    """The sources that read the environment: not tests, nor libraries that are not Nearpeak's."""
    for folder in (definitions.BENCH, definitions.PRELOAD, definitions.PACKAGE):
        yield from definitions.below(folder, PATTERNS)


def named() -> Iterator[tuple[Path, str]]:
    """Yields each source with a variable that it names."""
    for file in sources():
        for name in re.findall(PATTERNS[file.suffix], file.read_text(encoding="utf-8")):
            yield file, name


def test_every_variable_is_listed_and_every_listed_one_is_named() -> None:
    assert {name for _, name in named()} == set(variables())


def reader(file: Path) -> str:
    """The reader that a source in C++, or a script, belongs to."""
    if file.suffix == ".sh":
        return "bundle"
    if file.suffix == ".txt":
        return "build"
    if file.is_relative_to(PRELOAD):
        return next(name for name in PRELOADED if name in file.relative_to(PRELOAD).parts)
    return "programs"


def test_the_readers_are_those_whose_sources_name_it() -> None:
    listed = variables()
    for file, name in named():
        if file.suffix != ".py" and name != "NEARPEAK_BENCH":  # the start script only sets that
            assert reader(file) in listed[name].readers, (name, file)
    for name, variable in listed.items():
        assert set(variable.readers) <= set(READERS), name


def test_the_layers_defaults_and_bounds_are_those_of_its_source() -> None:
    text = (PRELOAD / "layer" / "world" / "settings.cpp").read_text(encoding="utf-8")
    constants = re.findall(r"constexpr unsigned long (k\w+) = (.*);", text)
    envelope = (PRELOAD / "layer" / "world" / "envelope.hpp").read_text(encoding="utf-8")
    constants += re.findall(r"constexpr std::size_t (kEnvelopeBytes) = (.*);", envelope)
    values = dict(constants)
    calls = re.findall(r'number\("(\w+)",\s*([^,]+), ([^,]+), ([^)]+)\)', text)
    assert len(calls) >= 8
    for name, *bounds in calls:
        least, most, usual = (number(bound, values) for bound in bounds)
        variable = variables()[name]
        assert variable.default == f"`{usual}`", name
        if name != "NEARPEAK_LAYER_REPORT":
            upper = "2^40" if most == 2**40 else str(most)
            assert variable.values.endswith(f", {least} to {upper}"), name


def number(text: str, values: dict[str, str]) -> int:
    """A number, a constant, a product or a shifted one of C++."""
    if "*" in text:
        first, second = text.split(" * ")
        return number(first, values) * number(second, values)
    if "<<" in text:
        return 1 << int(text.partition("<< ")[2])
    return number(values[text], values) if text in values else int(text)
