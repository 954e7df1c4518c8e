# SPDX-License-Identifier: Apache-2.0
"""The named settings of libraries: settings.toml."""

import functools
import re
from collections.abc import Callable
from importlib import resources

import msgspec

from nearpeak import folders
from nearpeak.errors import UserError, closest
from nearpeak.libraries import given, preload, profiles
from nearpeak.libraries.build import build_queries
from nearpeak.libraries.library import Library, Settings

QUERIES = "{queries}"  # in settings.toml


@functools.cache
def _families() -> dict[str, dict[str, Settings]]:
    text = (resources.files("nearpeak.libraries") / "settings.toml").read_text("utf-8")
    families = msgspec.toml.decode(text, type=dict[str, dict[str, Settings]])
    return {family: _named(tables) for family, tables in families.items()}


def _named(tables: dict[str, Settings]) -> dict[str, Settings]:
    return {name: msgspec.structs.replace(settings, name=name) for name, settings in tables.items()}


def family_settings(family: str) -> dict[str, Settings]:
    """The settings of a family by name; `default`, which changes nothing, is one of them."""
    return {"default": Settings(), **_families().get(family, {})}


def find(library: Library, name: str, say: Callable[[str], None] | None = None) -> Settings:
    """The settings of this name of the library's family, or those of a profile in a file.

    `say` gets a line if the profile is from another machine. UserError for an unknown name or an
    unsuitable profile; errors as given.check_unset.
    """
    if profiles.is_profile(name):
        settings = profiles.load(folders.expanded(name), library, say)
    elif name in (choices := family_settings(library.family)):
        settings = choices[name]
    else:
        raise UserError(f"unknown settings {name!r} of {library.family}{closest(name, choices)}")
    given.check_unset(library, settings)
    return _built(settings)


def _built(settings: Settings) -> Settings:
    """The settings with the library that they preload, which this builds, before the shell's.

    Errors as build_queries.
    """
    if settings.env.get(preload.VARIABLE) != QUERIES:
        return settings
    value = preload.before_others(build_queries())
    return msgspec.structs.replace(settings, env={**settings.env, preload.VARIABLE: value})


def split(spec: str) -> tuple[str, str | None]:
    """SPEC@SETTINGS, or SPEC@FILE.toml, in two; None without settings. An @ in a path that exists
    is the path's."""
    library, mark, name = spec.rpartition("@")
    if not mark or not library:
        return spec, None
    if not profiles.is_profile(name) and not re.fullmatch(r"[\w.+-]+", name):
        return spec, None
    if "/" in library and folders.expanded(spec.partition("=")[2] or spec).exists():
        return spec, None
    return library, name
