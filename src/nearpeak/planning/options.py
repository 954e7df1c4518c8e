# SPDX-License-Identifier: Apache-2.0
"""The options of a study, and the study file (TOML) that can hold them (docs/how-to/study.md)."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec

from nearpeak.decoding import UNDECODABLE
from nearpeak.errors import UserError, closest
from nearpeak.journal import resume_study
from nearpeak.libraries import settings
from nearpeak.libraries.library import Settings
from nearpeak.terms.buffers import parse_buffers
from nearpeak.terms.sizes import SHOWN, parse_bytes, parse_seconds, parse_sizes, split_list

MOST_LAUNCHES = 1000
MOST_RANKS = 4096
DIGITS = 9  # of a number that is read at all
T = TypeVar("T")


@dataclass(frozen=True)
class LibraryChoice:
    """One library of a study: its installation, its name and its settings."""

    mpi: str  # a catalogue's name, or a path
    name: str | None = None
    settings: tuple[Settings | str, ...] = (Settings(),)  # a text names settings of its family


def library_choice(spec: str) -> LibraryChoice:
    """The choice that --mpi SPEC or SPEC@SETTINGS means."""
    mpi, name = settings.split(spec)
    return LibraryChoice(mpi=mpi) if name is None else LibraryChoice(mpi=mpi, settings=(name,))


@dataclass
class Options:
    """The options of a study. None, or an empty list: not given."""

    libraries: list[LibraryChoice] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    operations: list[str] = field(default_factory=list)  # families of benchmarks
    benchmarks: list[str] = field(default_factory=list)
    buffers: list[str] = field(default_factory=list)  # "D,D"
    all_pairs: bool | None = None
    ranks: list[int] = field(default_factory=list)  # numbers of ranks of the paths
    oversubscribe: bool | None = None
    sizes: list[int] = field(default_factory=list)  # bytes
    problem_sizes: list[str] = field(default_factory=list)  # "jacobi2d=4K,16K"
    hosts: list[str] = field(default_factory=list)
    budget_seconds: float | None = None
    job_seconds: float | None = None  # fewer than the budget: what the job has left
    launches: int | None = None
    slot_ms: int | None = None
    window: int | None = None
    in_flight_bytes: int | None = None
    no_counters: bool | None = None  # the bytes on links are not counted
    launch_limit_seconds: float | None = None
    seed: int | None = None
    remote_shell: str | None = None
    output: str | None = None
    require: list[str] = field(default_factory=list)  # nearpeak.results.requirements
    # What `require` names: a budget leaves nothing of it out.
    kept_sizes: list[int] = field(default_factory=list)  # bytes
    kept_paths: list[str] = field(default_factory=list)  # names, or patterns
    kept_benchmarks: list[str] = field(default_factory=list)
    kept_alone: bool = False  # all other named things may be left out too

    @property
    def nothing_asked(self) -> bool:
        """True if the user chose neither benchmarks nor their sizes."""
        return not (self.operations or self.benchmarks or self.sizes)

    @property
    def given(self) -> dict[str, Any]:
        """The options that have a value, by their names."""
        return {
            name: value
            for name, value in vars(self).items()
            if value is not None and value is not False and value != []
        }


def check_launches(value: int) -> int:
    """At least 2 launches, since one says nothing about the spread; UserError for others."""
    if value < 2:
        raise UserError(f"{value} is too few launches: choose 2 or more (6 give an interval)")
    if value > MOST_LAUNCHES:
        raise UserError(f"{value:.3g} launches are too many: choose {MOST_LAUNCHES} or fewer")
    return value


def check_ranks(values: Sequence[int]) -> list[int]:
    """The numbers of ranks, each once; UserError for none, and for far too many."""
    for value in values:
        if not 1 <= value <= MOST_RANKS:
            raise UserError(
                f"{value:.3g} ranks: choose 2 or more (an application may have 1), and"
                f" {MOST_RANKS} at most"
            )
    return sorted(set(values))


def parse_ranks(text: str) -> list[int]:
    """The numbers of ranks of `2,4,16`; UserError for anything else."""
    numbers = split_list(text)
    for word in numbers:
        if not (word.isascii() and word.isdigit() and len(word) <= DIGITS):
            raise UserError(f"{word[:SHOWN]!r} is no number of ranks: write them like 2,4,16")
    return check_ranks([int(word) for word in numbers])


# Without control characters: no file, host, program or variable is named with them.
Word = Annotated[str, msgspec.Meta(min_length=1, pattern=r"^[^\x00-\x1f\x7f]+\Z")]
Name = Annotated[str, msgspec.Meta(pattern=r"^[^\x00-\x20=]+\Z")]
Text = Annotated[str, msgspec.Meta(pattern=r"^[^\x00]*\Z")]
Count = Annotated[int, msgspec.Meta(ge=1, lt=1 << 31)]
Bytes = Annotated[int, msgspec.Meta(ge=1, le=(1 << 63) - 1)]


class _Settings(msgspec.Struct, forbid_unknown_fields=True):
    """[[library.settings]] of a study file."""

    name: Word
    env: dict[Name, Text] = {}
    flags: list[Word] = []
    unset: list[Name] = []


class _Library(msgspec.Struct, forbid_unknown_fields=True):
    """[[library]] of a study file."""

    mpi: Word
    name: Word | None = None
    settings: Annotated[tuple[Word | _Settings, ...], msgspec.Meta(min_length=1)] = ("default",)


class _StudyFile(msgspec.Struct, forbid_unknown_fields=True):
    """A study file; docs/how-to/study.md describes its keys."""

    mpi: list[Word] = []
    library: list[_Library] = []
    paths: list[Word] = []
    operations: list[Word] = []
    benchmarks: list[Word] = []
    buffers: list[Word] = []
    sizes: Word | None = None
    problem_sizes: list[Word] = []
    hosts: list[Word] = []
    budget: Word | None = None
    all_pairs: bool | None = None
    ranks: list[int] = []
    oversubscribe: bool | None = None
    launches: int | None = None
    slot_ms: Count | None = None
    window: Count | None = None
    in_flight: Bytes | Word | None = None
    no_counters: bool | None = None
    launch_limit: Word | None = None
    seed: Annotated[int, msgspec.Meta(ge=0, le=(1 << 63) - 1)] | None = None
    remote_shell: Word | None = None
    output: Word | None = None
    require: list[Word] = []


KEYS = _StudyFile.__struct_fields__
_CONVERTED = ("buffers", "ranks", "sizes", "launches", "output")
_AS_THEY_ARE = {*KEYS}.intersection(Options.__dataclass_fields__).difference(_CONVERTED)


def read_study_file(file: Path) -> Options:
    """Returns the options in a study file; UserError names the file, the key and the fault."""
    if file.is_dir():
        raise UserError(
            f"{file} is a folder, and a study file is wanted: to complete the study in it, "
            f"{resume_study(file)}"
        )
    try:
        table = msgspec.toml.decode(file.read_bytes())
    except OSError as error:
        raise UserError(f"cannot read the study file {file}: {error.strerror}") from None
    # Python's TOML reader also raises other errors, for numbers with thousands of digits.
    except UNDECODABLE as error:
        raise UserError(f"{file} is not TOML: {error}") from None
    if not table:
        raise UserError(f"{file} is empty: name in it what is to be measured, or leave it out")
    try:
        return _options(msgspec.convert(table, _StudyFile))
    except (msgspec.ValidationError, UserError) as error:
        raise UserError(f"{file}: {error}{_hint(str(error))}") from None


def _options(study_file: _StudyFile) -> Options:
    as_they_are = {name: getattr(study_file, name) for name in _AS_THEY_ARE}
    return Options(
        **as_they_are,
        libraries=[library_choice(spec) for spec in study_file.mpi]
        + [_choice(library) for library in study_file.library],
        buffers=_parse_key("buffers", _all_buffers, study_file.buffers) or [],
        ranks=_parse_key("ranks", check_ranks, study_file.ranks) or [],
        sizes=_parse_key("sizes", parse_sizes, study_file.sizes) or [],
        budget_seconds=_parse_key("budget", parse_seconds, study_file.budget),
        launches=_parse_key("launches", check_launches, study_file.launches),
        in_flight_bytes=_parse_key("in_flight", _bytes, study_file.in_flight),
        launch_limit_seconds=_parse_key("launch_limit", parse_seconds, study_file.launch_limit),
        # No shell has expanded it.
        output=study_file.output and str(Path(study_file.output).expanduser()),
    )


def _all_buffers(texts: list[str]) -> list[str]:
    return list(map(parse_buffers, texts))


def _choice(library: _Library) -> LibraryChoice:
    several = tuple(
        named if isinstance(named, str) else Settings(**msgspec.structs.asdict(named))
        for named in library.settings
    )
    return LibraryChoice(mpi=library.mpi, name=library.name, settings=several)


def _parse_key(key: str, parser: Callable[[Any], T], value: object) -> T | None:
    """Parses the value of a key; its errors name the key as msgspec does."""
    if value is None:
        return None
    try:
        return parser(value)
    except UserError as error:
        raise UserError(f"{error} - at `$.{key}`") from None


def _bytes(value: int | str) -> int:
    size = parse_bytes(value) if isinstance(value, str) else value
    if size < 1:
        raise UserError(f"{value!r} is too little: write 1 or more")
    return size


def _hint(message: str) -> str:
    """Suggests a key for an unknown one."""
    unknown = re.search(r"unknown field `([^`]*)`(?: - at `([^`]*)`)?$", message)
    if unknown is None:
        return ""
    kind: type[msgspec.Struct] = _StudyFile
    if unknown[2] is not None:
        kind = _Settings if ".settings" in unknown[2] else _Library
    return closest(unknown[1], list(kind.__struct_fields__))


def merge(file: Options, line: Options) -> Options:
    """Merges options: the command line's value where it has one, the file's elsewhere."""
    return Options(**{**vars(file), **line.given})
