# SPDX-License-Identifier: Apache-2.0
"""Profiles: tuned settings, in a file that names their machine, library and path."""

import textwrap
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import msgspec

from nearpeak.decoding import UNDECODABLE
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
SHOWN = 60  # letters of a library's build


class Apart(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """Launches between CPUs at one distance."""

    low_ns: float  # round trip of a cache line between the CPUs in ns, of the nearest launch
    high_ns: float  # of the farthest launch, at this distance
    launches: int  # number of launches

    @property
    def label(self) -> str:
        """`60.0 to 67.0 ns`."""
        return span(self.low_ns, self.high_ns, "ns")


class At(Apart, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """The effect of the settings on a case between CPUs at one distance."""

    # speedup: median of the ratios within blocks with both at this distance, or ratio of the
    # medians
    times: float
    ci95: list[float]  # its 95 % interval; empty: too few launches
    slower: bool  # slower by more than 5 %, beyond chance; with few launches, by a fifth in each


def slower_at(distances: Sequence[At]) -> list[At]:
    """The distances at which a case is slower, where there are several."""
    return [distance for distance in distances if distance.slower and len(distances) > 1]


class Evidence(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """The effect of the settings on one case, by launches that took no part in the search."""

    case: str  # path, benchmark, buffers and size: `host-gpu pcie, latency H,D at 16 MiB`
    before: float  # median of launch medians with the base settings, in `unit`
    after: float  # the same with the tuned settings
    unit: str  # of both
    times: float  # speedup: median of the ratios within blocks
    ci95: list[float]  # its 95 % interval; empty: too few launches
    # as in studies: `faster`, `slower`, `equivalent`, `undecided`, `mixed`, `two modes`
    verdict: str
    ceiling: float | None = None  # without MPI, in `unit`; null: not known
    distances: list[At] = []  # of the CPUs, between host memories; empty: not known

    @property
    def slower_at(self) -> list[At]:
        """The distances at which it is slower, where there are several."""
        return slower_at(self.distances)

    @property
    def is_slower_by_distance(self) -> bool:
        """True if it is slower at some of several distances of the CPUs, and not overall."""
        return bool(self.slower_at) and self.verdict != "slower"

    @property
    def apart(self) -> str:
        """`60.0 ns`; of several distances `60.0 ns: 2.00, 300 ns: 0.700 times as fast`."""
        if len(self.distances) < 2:
            return "".join(distance.label for distance in self.distances)
        fragments = [f"{distance.label}: {number(distance.times)}" for distance in self.distances]
        return f"{', '.join(fragments)} times as fast"


class Profile(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """The contents of the file."""

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
    breaks: list[str] = []  # features that may stop working with it: `NAME: WHAT`
    env: dict[str, str]
    unset: list[str] = []  # as of settings
    # Variables of `env` that are set to a file, with its name. It lies beside this file.
    files: dict[str, str] = {}
    # Further variables for a user's launches (`launch.needed`): Nearpeak's launches have them.
    needed: dict[str, str] = {}
    evidence: list[Evidence] = []
    slower: list[Evidence] = []  # its price
    # The effect of settings for device buffers on messages in host memory, smallest first; none: it
    # was not measured; null: the settings are for host memory.
    host_messages: list[Evidence] | None = None
    # Distances of the CPUs in its evidence, by path of host memory.
    distances: dict[str, list[Apart]] = {}
    lacking: list[str] = []  # parts of the search for which time was missing


def host_words(host: Sequence[Evidence]) -> str:
    """The effect on messages in host memory: `8 B 0.650 [0.600, 0.700] times as fast`."""
    if not host:
        return "not measured"
    fragments = [
        f"{row.case.rpartition(' at ')[2]} {number(row.times)}"
        + (f" [{number(row.ci95[0])}, {number(row.ci95[1])}]" if row.ci95 else " (few launches)")
        for row in host
    ]
    path = host[0].case.partition(", ")[0]
    return f"{', '.join(fragments)} times as fast ({path})"


def first_line(profile: Profile) -> list[str]:
    """The first line of the file of a profile for device buffers; none for other profiles."""
    host = profile.host_messages
    return [] if host is None else [f"Host messages with it: {host_words(host)}"]


def is_profile(name: str) -> bool:
    """True if the settings of `--mpi X@SETTINGS` are a file."""
    return name.endswith(SUFFIX)


def build_of(library: Library) -> str:
    """The build of a library, which distinguishes it from others of its version.

    Its entry in the catalogue, else its version text in a line. Empty for libraries that
    nearpeak-native loads, which report only their version.
    """
    if is_native(library):
        return ""
    return library.entry or " ".join(library.version_text.split())


def load(file: Path, library: Library, say: Callable[[str], None] | None = None) -> Settings:
    """The settings of a profile for a library. `say` gets a line if it is from another machine.

    UserError for another library, or another version or build of it or of its components.
    """
    try:
        profile = msgspec.toml.decode(file.read_bytes(), type=Profile)
    except OSError as error:
        raise UserError(f"{file} cannot be read ({error.strerror}): give a profile") from None
    except UNDECODABLE as error:
        raise UserError(
            f"{file} is no profile ({error}): give one that `nearpeak tune` wrote"
        ) from None
    if profile.schema != SCHEMA:
        raise UserError(f"{file} is a profile of schema {profile.schema}, not {SCHEMA}: tune anew")
    made_for = f"{profile.family} {profile.version}"
    if profile.family != library.family:
        raise UserError(f"{file} is a profile of {made_for}, and {library.name} is another library")
    if profile.version != library.version:
        raise UserError(
            f"{file} is a profile of {made_for}, and {library.name} is {library.version}: tune"
            f' anew, or write version = "{library.version}" into it to use it all the same'
        )
    build = build_of(library)
    if profile.build and build and profile.build != build:
        theirs, ours = (textwrap.shorten(text, SHOWN) for text in (profile.build, build))
        raise UserError(
            f"{file} is a profile of another build of {made_for} ({theirs}) than {library.name}"
            f' ({ours}): tune anew, or write build = "" into it to use it all the same'
        )
    loaded = versions(library) if profile.components else {}
    for name, version in profile.components.items():
        if loaded.get(name, version) != version:
            raise UserError(
                f"{file} is a profile of {made_for} with {_with(name, version)}, and {library.name}"
                f" has {_with(name, loaded[name])}: tune anew, or write {name} ="
                f' "{loaded[name]}" below [components] in it to use it all the same'
            )
    env = {**profile.env, **_beside(file, profile)}
    if say and (other := elsewhere(profile, discover())):
        say(f"{file} was tuned with {other}: what it does here is not known")
    summary = f"tuned on {profile.host}, {profile.made}"
    return Settings(name=profile.name, env=env, unset=profile.unset, summary=summary)


def _beside(file: Path, profile: Profile) -> dict[str, str]:
    """The variables that are set to files beside a profile; UserError where one is missing, as a
    library may ignore that silently."""
    variables = {}
    for variable, name in profile.files.items():
        path = file.resolve().parent / name
        if not path.is_file():
            raise UserError(f"{file} sets {variable} to {path}, which is not there: copy it there")
        variables[variable] = before_others(path) if variable == VARIABLE else str(path)
    return variables


def _with(component: str, version: str) -> str:
    """`ucx 1.22.0`, or `no ucx`."""
    return f"{component} {version}" if version else f"no {component}"


def elsewhere(profile: Profile, machine: Machine) -> str:
    """The differences of a machine from a profile's: `host a (here b), driver 580 (here 590)`."""
    facts = {
        "host": (profile.host, machine.hostname),
        "GPU": (_kinds(profile.gpus), _kinds(gpu.name for gpu in machine.gpus)),
        "driver": (profile.driver, machine.provenance.nvidia_driver or ""),
    }
    return ", ".join(
        f"{name} {tuned or 'none'} (here {current or 'none'})"
        for name, (tuned, current) in facts.items()
        if tuned != current
    )


def _kinds(gpus: Iterable[str]) -> str:
    """The kinds of GPUs, each once."""
    return " and ".join(sorted(set(gpus)))


def to_toml(profile: Profile) -> str:
    """The text of the file, with `first_line` as a comment."""
    import tomli_w

    first = "".join(f"# {line}\n" for line in first_line(profile))
    return first + tomli_w.dumps(_fields(profile))


def _fields(profile: Profile) -> dict[str, object]:
    """The fields without null values, which TOML cannot hold."""
    fields: dict[str, object] = msgspec.to_builtins(profile)
    if profile.host_messages is None:
        del fields["host_messages"]
    for name in ("evidence", "slower", "host_messages"):
        if name not in fields:
            continue
        rows: list[dict[str, object]] = msgspec.convert(fields[name], list[dict[str, object]])
        fields[name] = list(map(_without_null, rows))
    return fields


def _without_null(row: dict[str, object]) -> dict[str, object]:
    return {name: value for name, value in row.items() if value is not None}
