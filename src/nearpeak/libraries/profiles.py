# SPDX-License-Identifier: Apache-2.0
"""Profiles: settings that were found by tuning, in a file that says where and for what."""

import textwrap
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import msgspec

from nearpeak.errors import UserError
from nearpeak.libraries.families import is_native
from nearpeak.libraries.library import Library, Settings
from nearpeak.libraries.preload import VARIABLE, before_others
from nearpeak.libraries.tunables import versions
from nearpeak.machine.discover import discover
from nearpeak.machine.machine import Machine
from nearpeak.numbers import number, span

SUFFIX = ".toml"
SCHEMA = 1
SHOWN = 60  # letters of what a library says of its build


class Apart(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """Launches between CPUs at one distance."""

    low_ns: float  # a cache line's round trip, of the nearest,
    high_ns: float  # and of those furthest apart
    launches: int

    @property
    def words(self) -> str:
        """`60.0 to 67.0 ns`."""
        return span(self.low_ns, self.high_ns, "ns")


class At(Apart, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """What the settings do to a case there."""

    # As fast: median of the ratios within blocks; where no block has both, ratio of the medians.
    times: float
    ci95: list[float]  # empty: launches were too few
    slower: bool  # by more than 5 %, beyond chance; by a fifth in each launch, where they are few


def slower_at(distances: Sequence[At]) -> list[At]:
    """Of the distances of a case those at which it is slower, where there are several."""
    return [at for at in distances if at.slower and len(distances) > 1]


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
    distances: list[At] = []  # of the CPUs, between host memories; none: not known

    @property
    def slower_at(self) -> list[At]:
        """The distances at which it is slower, where there are several."""
        return slower_at(self.distances)

    @property
    def is_slower_by_distance(self) -> bool:
        """Whether it is slower at some of several distances of the CPUs, and not on the whole."""
        return bool(self.slower_at) and self.verdict != "slower"

    @property
    def apart(self) -> str:
        """`60.0 ns`; of several distances `60.0 ns: 2.00, 300 ns: 0.700 times as fast`."""
        if len(self.distances) < 2:
            return "".join(at.words for at in self.distances)
        each = [f"{at.words}: {number(at.times)}" for at in self.distances]
        return f"{', '.join(each)} times as fast"


class Profile(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """The file."""

    schema: int
    name: str
    family: str
    version: str  # of the library; it is refused for another,
    build: str = ""  # and for another build (`build_of`); "": for any
    components: dict[str, str] = {}  # and for other versions of these; "": the library loads none
    made: str  # date
    host: str
    cpu: str
    gpus: list[str]
    driver: str
    path: str
    scope: str  # where it may be used
    breaks: list[str] = []  # what may stop working with it: `NAME: WHAT`
    env: dict[str, str]
    unset: list[str] = []  # as of settings
    # Of `env` what is set to a file: its name. The one beside this file is taken.
    files: dict[str, str] = {}
    # What launches of the library need beside (`launch.needed`): Nearpeak's own set it anyway.
    needed: dict[str, str] = {}
    evidence: list[Evidence] = []
    slower: list[Evidence] = []  # its price
    # What settings for buffers in a GPU do to messages in host memory, smallest first; none: that
    # was not measured; null: they are for host memory themselves.
    host_messages: list[Evidence] | None = None
    # Of the CPUs, by path of host memory: where its evidence is from.
    distances: dict[str, list[Apart]] = {}
    lacking: list[str] = []  # what its search had no time for


def host_words(host: Sequence[Evidence]) -> str:
    """What settings do to messages in host memory: `8 B 0.650 [0.600, 0.700] times as fast`."""
    if not host:
        return "not measured"
    each = [
        f"{row.case.rpartition(' at ')[2]} {number(row.times)}"
        + (f" [{number(row.ci95[0])}, {number(row.ci95[1])}]" if row.ci95 else " (few launches)")
        for row in host
    ]
    where = host[0].case.partition(", ")[0]
    return f"{', '.join(each)} times as fast ({where})"


def first_line(profile: Profile) -> list[str]:
    """With which files of a profile for buffers in a GPU begin; none of others."""
    host = profile.host_messages
    return [] if host is None else [f"Host messages with it: {host_words(host)}"]


def is_profile(name: str) -> bool:
    """Whether the settings of `--mpi X@SETTINGS` are a file."""
    return name.endswith(SUFFIX)


def build_of(library: Library) -> str:
    """What tells a library from others of its version: the catalogue's entry that it is, else what
    it says of itself, in a line. Empty for what nearpeak-native loads, which says no more than its
    version."""
    if is_native(library):
        return ""
    return library.entry or " ".join(library.version_text.split())


def load(file: Path, library: Library, say: Callable[[str], None] | None = None) -> Settings:
    """The settings of a profile for a library. `say`: told where it is from another machine.

    UserError for another library, or another version or build of it or of its components.
    """
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
    build = build_of(library)
    if found.build and build and found.build != build:
        theirs, ours = (textwrap.shorten(text, SHOWN) for text in (found.build, build))
        raise UserError(
            f"{file} is a profile of another build of {made_for} ({theirs}) than {library.name}"
            f' ({ours}): tune anew, or write build = "" into it to use it all the same'
        )
    here = versions(library) if found.components else {}
    for name, version in found.components.items():
        if here.get(name, version) != version:
            raise UserError(
                f"{file} is a profile of {made_for} with {_with(name, version)}, and {library.name}"
                f" has {_with(name, here[name])}: tune anew, or write {name} ="
                f' "{here[name]}" below [components] in it to use it all the same'
            )
    env = {**found.env, **_beside(file, found)}
    if say and (other := elsewhere(found, discover())):
        say(f"{file} was tuned with {other}: what it does here is not known")
    summary = f"tuned on {found.host}, {found.made}"
    return Settings(name=found.name, env=env, unset=found.unset, summary=summary)


def _beside(file: Path, profile: Profile) -> dict[str, str]:
    """The variables that are set to files beside a profile; UserError where one is missing, as a
    library may say nothing of it."""
    found = {}
    for variable, name in profile.files.items():
        own = file.resolve().parent / name
        if not own.is_file():
            raise UserError(f"{file} sets {variable} to {own}, which is not there: copy it there")
        found[variable] = before_others(own) if variable == VARIABLE else str(own)
    return found


def _with(component: str, version: str) -> str:
    """`ucx 1.22.0`, or `no ucx`."""
    return f"{component} {version}" if version else f"no {component}"


def elsewhere(profile: Profile, machine: Machine) -> str:
    """In what a machine differs from that of a profile: `host a (here b), driver 580 (here 590)`;
    empty: in nothing."""
    facts = {
        "host": (profile.host, machine.hostname),
        "GPU": (_kinds(profile.gpus), _kinds(gpu.name for gpu in machine.gpus)),
        "driver": (profile.driver, machine.provenance.nvidia_driver or ""),
    }
    return ", ".join(
        f"{name} {there or 'none'} (here {here or 'none'})"
        for name, (there, here) in facts.items()
        if there != here
    )


def _kinds(gpus: Iterable[str]) -> str:
    """Each once."""
    return " and ".join(sorted(set(gpus)))


def to_toml(profile: Profile) -> str:
    """The text of the file. Its first line says what settings for device buffers do to others."""
    import tomli_w

    first = "".join(f"# {line}\n" for line in first_line(profile))
    return first + tomli_w.dumps(_told(profile))


def _told(profile: Profile) -> dict[str, object]:
    """Without what is not known, which TOML has no word for."""
    found: dict[str, object] = msgspec.to_builtins(profile)
    if profile.host_messages is None:
        del found["host_messages"]
    for name in ("evidence", "slower", "host_messages"):
        if name not in found:
            continue
        rows: list[dict[str, object]] = msgspec.convert(found[name], list[dict[str, object]])
        found[name] = [{k: v for k, v in row.items() if v is not None} for row in rows]
    return found
