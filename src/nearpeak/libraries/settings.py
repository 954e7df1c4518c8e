# SPDX-License-Identifier: Apache-2.0
"""The settings that libraries are known to have, by name: settings.toml."""

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
    return {
        family: {
            name: msgspec.structs.replace(settings, name=name) for name, settings in tables.items()
        }
        for family, tables in families.items()
    }


def known(family: str) -> dict[str, Settings]:
    """The settings of a family by name; `default`, which changes nothing, is one of them."""
    return {"default": Settings(), **_families().get(family, {})}


def find(library: Library, name: str, say: Callable[[str], None] | None = None) -> Settings:
    """The settings of this name that the library's family has, or those of a profile in a file.
    `say`: told where the profile is from another machine.

    UserError for neither: with those that there are, or why not. Errors as given.check_unset, too.
    """
    if profiles.is_profile(name):
        found = profiles.load(folders.expanded(name), library, say)
    elif name in (there := known(library.family)):
        found = there[name]
    else:
        raise UserError(f"unknown settings {name!r} of {library.family}{closest(name, there)}")
    given.check_unset(library, found)
    return _built(found)


def _built(found: Settings) -> Settings:
    """With the library that they preload, which is built here, before what the shell preloads;
    errors as build_queries."""
    if found.env.get(preload.VARIABLE) != QUERIES:
        return found
    value = preload.before_others(build_queries())
    return msgspec.structs.replace(found, env={**found.env, preload.VARIABLE: value})


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
