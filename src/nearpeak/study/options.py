# SPDX-License-Identifier: Apache-2.0
"""The options of a study, and the study file (TOML) that can hold them (docs/study.md)."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from nearpeak.errors import UserError
from nearpeak.libraries import settings
from nearpeak.libraries.model import Settings
from nearpeak.study.buffers import parse_buffers
from nearpeak.study.describe import closest
from nearpeak.study.sizes import parse_bytes, parse_seconds, parse_sizes


@dataclass(frozen=True)
class LibraryChoice:
    """One library of a study: which installation, under which name, with which settings."""

    mpi: str  # a catalogue's name, or a path
    name: str | None = None
    settings: tuple[Settings | str, ...] = (Settings(),)  # a text names settings of its family


def library_choice(spec: str) -> LibraryChoice:
    """The choice that --mpi SPEC or SPEC@SETTINGS means."""
    mpi, name = settings.split(spec)
    return LibraryChoice(mpi=mpi) if name is None else LibraryChoice(mpi=mpi, settings=(name,))


@dataclass
class Options:
    """What a user may say about a study. None, or an empty list: not said."""

    libraries: list[LibraryChoice] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    benchmarks: list[str] = field(default_factory=list)
    buffers: list[str] = field(default_factory=list)  # "D,D"
    all_pairs: bool | None = None
    sizes: list[int] = field(default_factory=list)  # bytes
    hosts: list[str] = field(default_factory=list)
    budget_seconds: float | None = None
    launches: int | None = None
    slot_ms: int | None = None
    window: int | None = None
    in_flight_bytes: int | None = None
    launch_limit_seconds: float | None = None
    seed: int | None = None
    remote_shell: str | None = None
    output: str | None = None


def check_launches(value: int) -> int:
    """At least 2 launches, since one says nothing about the spread."""
    if value < 2:
        raise UserError(f"{value} launches are too few: choose 2 or more (6 give an interval)")
    return value


def split_list(text: str) -> list[str]:
    """The words between commas, without the blanks around them; UserError when there are none."""
    words = [word.strip() for word in text.split(",") if word.strip()]
    if not words:
        raise UserError(f"{text!r} names nothing")
    return words


def _text(value: object) -> str:
    if not isinstance(value, str) or not value:
        raise UserError("write a text in quotes")
    return value


def _texts(value: object) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(one, str) and one for one in value):
        raise UserError('write a list of texts, like ["a", "b"]')
    return value


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise UserError("write true or false")
    return value


def _whole(least: int) -> Callable[[object], int]:
    def parse(value: object) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise UserError(f"write a whole number, {least} or more")
        return value

    return parse


def _bytes(value: object) -> int:
    size = value if isinstance(value, int) else parse_bytes(_text(value))
    return _whole(1)(size)


# Key in the file -> (field of Options, what turns its value into the field's).
_KEYS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "mpi": ("libraries", lambda value: [library_choice(one) for one in _texts(value)]),
    "paths": ("paths", _texts),
    "benchmarks": ("benchmarks", _texts),
    "buffers": ("buffers", lambda value: [parse_buffers(one) for one in _texts(value)]),
    "sizes": ("sizes", lambda value: parse_sizes(_text(value))),
    "hosts": ("hosts", _texts),
    "budget": ("budget_seconds", lambda value: parse_seconds(_text(value))),
    "all_pairs": ("all_pairs", _flag),
    "launches": ("launches", lambda value: check_launches(_whole(0)(value))),
    "slot_ms": ("slot_ms", _whole(1)),
    "window": ("window", _whole(1)),
    "in_flight": ("in_flight_bytes", _bytes),
    "launch_limit": ("launch_limit_seconds", lambda value: parse_seconds(_text(value))),
    "seed": ("seed", _whole(0)),
    "remote_shell": ("remote_shell", _text),
    "output": ("output", _text),
}
_LIBRARY_KEYS = ("mpi", "name", "settings")
_SETTINGS_KEYS = ("name", "env", "flags")

Where = tuple[str | int, ...]  # keys and indices down to a value


def read_study_file(file: Path) -> Options:
    """The options in a study file; UserError names the file, the line and the wrong key."""
    try:
        text = file.read_text(encoding="utf-8")
        tables = msgspec.toml.decode(text)
    except OSError as error:
        raise UserError(f"cannot read the study file {file}: {error.strerror}") from None
    except (UnicodeDecodeError, msgspec.DecodeError) as error:
        raise UserError(f"{file} is no TOML: {error}") from None

    def wrong(where: Where, why: object) -> UserError:
        name = ".".join(str(part) for part in where if isinstance(part, str))
        return UserError(f"{file} line {find_line(text, where)}: {name}: {why}")

    def check_keys(table: object, keys: tuple[str, ...], where: Where) -> dict[str, Any]:
        if not isinstance(table, dict):
            raise wrong(where, "write a table")
        for key in table:
            if key not in keys:
                raise wrong((*where, key), f"unknown key{closest(key, list(keys))}")
        return table

    def parse(where: Where, parser: Callable[[Any], Any], value: object) -> Any:
        try:
            return parser(value)
        except UserError as error:
            raise wrong(where, error) from None

    def parse_settings(table: object, where: Where) -> Settings | str:
        if isinstance(table, str) and table:
            return table
        known = check_keys(table, _SETTINGS_KEYS, where)
        if "name" not in known:
            raise wrong(where, "settings need a name")
        env = known.get("env", {})
        if not isinstance(env, dict) or not all(isinstance(value, str) for value in env.values()):
            raise wrong((*where, "env"), 'write variables as { NAME = "value" }')
        return Settings(
            name=parse((*where, "name"), _text, known["name"]),
            env=env,
            flags=parse((*where, "flags"), _texts, known.get("flags", [])),
        )

    def parse_library(table: object, index: int) -> LibraryChoice:
        where: Where = ("library", index)
        known = check_keys(table, _LIBRARY_KEYS, where)
        if "mpi" not in known:
            raise wrong(where, "a library needs the key mpi: a name of `nearpeak mpi list`, a path")
        several = known.get("settings", ["default"])
        if not isinstance(several, list) or not several:
            raise wrong((*where, "settings"), 'write ["NAME"], or [[library.settings]] tables')
        return LibraryChoice(
            mpi=parse((*where, "mpi"), _text, known["mpi"]),
            name=parse((*where, "name"), _text, known["name"]) if "name" in known else None,
            settings=tuple(
                parse_settings(one, (*where, "settings", number))
                for number, one in enumerate(several)
            ),
        )

    check_keys(tables, (*_KEYS, "library"), ())
    options = Options()
    for key, value in tables.items():
        if key == "library":
            if not isinstance(value, list):
                raise wrong((key,), "write [[library]] tables")
            options.libraries += [parse_library(one, index) for index, one in enumerate(value)]
        else:
            name, parser = _KEYS[key]
            parsed = parse((key,), parser, value)
            if key == "mpi":
                options.libraries = parsed + options.libraries
            else:
                setattr(options, name, parsed)
    return options


def merge(file: Options, line: Options) -> Options:
    """The command line's word where it has one, the file's elsewhere."""
    said = {name: value for name, value in vars(line).items() if value is not None and value != []}
    return Options(**{**vars(file), **said})


_HEADER = re.compile(r"\s*(\[\[?)\s*([^\[\]]+?)\s*\]\]?\s*(#.*)?$")
_ENTRY = re.compile(r"\s*([A-Za-z0-9_\-.\"' ]+?)\s*=")


def find_line(text: str, where: Where) -> int:
    """The line (from 1) of a TOML text that `where` stands in, or that of its nearest parent."""
    counts: dict[tuple[str, ...], int] = {}
    table: list[str | int] = []
    best = (0, 1)  # how much of `where` was found, and in which line
    inside: list[str | int] = []  # the entry that the line belongs to
    for number, line in enumerate(text.splitlines(), start=1):
        if header := _HEADER.match(line):
            names = _names(header[2])
            if header[1] == "[[":
                counts[names] = counts.get(names, -1) + 1
                for longer in [one for one in counts if one[: len(names)] == names != one]:
                    del counts[longer]
            table = []
            for end, name in enumerate(names, start=1):
                table.append(name)
                if names[:end] in counts:
                    table.append(counts[names[:end]])
            inside = table
        elif entry := _ENTRY.match(line):
            inside = [*table, *_names(entry[1])]
        found = _common(inside, where)
        # Keys of an inline table stand within the text of their entry.
        if found == len(inside):
            for key in [part for part in where[found:] if isinstance(part, str)]:
                if re.search(rf"(?<![\w-])[\"']?{re.escape(key)}[\"']?\s*=", line):
                    found += 1
        if found > best[0]:
            best = (found, number)
    return best[1]


def _names(dotted: str) -> tuple[str, ...]:
    return tuple(part.strip().strip("\"'") for part in dotted.split("."))


def _common(first: list[str | int], second: Where) -> int:
    length = 0
    for one, other in zip(first, second, strict=False):
        if one != other:
            break
        length += 1
    return length
