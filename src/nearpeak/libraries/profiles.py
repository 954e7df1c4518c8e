# SPDX-License-Identifier: Apache-2.0
"""Profiles: settings that were found by tuning, in a file that says where and for what."""

from pathlib import Path

import msgspec

from nearpeak.errors import UserError
from nearpeak.libraries.library import Library, Settings

SUFFIX = ".toml"
SCHEMA = 1


class Evidence(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """What the settings do to one case, by launches that took no part in the search."""

    case: str  # "host-gpu pcie, latency H,D at 16 MiB"
    before: float
    after: float
    unit: str
    times: float  # as fast
    ci95: list[float]  # of `times`; empty: launches were too few
    verdict: str
    ceiling: float | None = None  # in its unit


class Profile(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """The file."""

    schema: int
    name: str
    family: str
    version: str  # of the library; it is refused for another
    made: str  # date
    host: str
    cpu: str
    gpus: list[str]
    driver: str
    path: str
    scope: str  # where it may be used
    env: dict[str, str]
    evidence: list[Evidence] = []
    slower: list[Evidence] = []  # its price


def is_profile(name: str) -> bool:
    """Whether the settings of `--mpi X@SETTINGS` are a file."""
    return name.endswith(SUFFIX)


def load(file: Path, library: Library) -> Settings:
    """The settings of a profile for a library; UserError for another one or another version."""
    try:
        found = msgspec.toml.decode(file.read_bytes(), type=Profile)
    except OSError as error:
        raise UserError(f"{file} cannot be read ({error.strerror}): give a profile") from None
    except (msgspec.MsgspecError, ValueError) as error:
        raise UserError(
            f"{file} is no profile ({error}): give one that `nearpeak tune` wrote"
        ) from None
    if found.schema != SCHEMA:
        raise UserError(f"{file} is a profile of schema {found.schema}, not {SCHEMA}: tune anew")
    made_for = f"{found.family} {found.version}"
    if found.family != library.family:
        raise UserError(f"{file} is a profile of {made_for}, and {library.name} is another library")
    if found.version != library.version:
        raise UserError(
            f"{file} is a profile of {made_for}, and {library.name} is {library.version}: tune"
            f' anew, or write version = "{library.version}" into it to use it all the same'
        )
    return Settings(name=found.name, env=found.env, summary=f"tuned on {found.host}, {found.made}")


def to_toml(profile: Profile) -> str:
    """The text of the file."""
    import tomli_w

    return tomli_w.dumps(_told(profile))


def _told(profile: Profile) -> dict[str, object]:
    """Without what is not known, which TOML has no word for."""
    found: dict[str, object] = msgspec.to_builtins(profile)
    for name in ("evidence", "slower"):
        rows: list[dict[str, object]] = msgspec.convert(found[name], list[dict[str, object]])
        found[name] = [{k: v for k, v in row.items() if v is not None} for row in rows]
    return found
