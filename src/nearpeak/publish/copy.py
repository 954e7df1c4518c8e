# SPDX-License-Identifier: Apache-2.0
"""Copies what `nearpeak study`, `tune`, `conform`, `nodes` or `trace` wrote, with stand-ins for
what is private in it.

The digests of a study's copy are those of its own lines, and its first record says that it is one.
"""

import tempfile
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any, get_args

import msgspec

import nearpeak
from nearpeak.conform import journal as conforming
from nearpeak.decoding import UNDECODABLE
from nearpeak.errors import UserError
from nearpeak.files import check_output, digest_of, make_inside, put_whole, sync
from nearpeak.journal import Form, Interrupted, whole_lines
from nearpeak.launching.fingerprints import settings_digest
from nearpeak.machine.machine import Machine
from nearpeak.nodes import journal as pairing
from nearpeak.observations.explained import FOLDER, Explanation, read_explanations
from nearpeak.observations.load import load
from nearpeak.planning.plan import Plan
from nearpeak.publish.marked import changed
from nearpeak.publish.names import KINDS, Kind, Names
from nearpeak.publish.variables import may_stay
from nearpeak.study import journal
from nearpeak.study.folder import check_new
from nearpeak.study.records import (
    AmendmentRecord,
    LaunchEndRecord,
    Published,
    Record,
    SessionRecord,
    StudyRecord,
)
from nearpeak.study.seal import FILES, Seal
from nearpeak.terms.private import Mark, Variables
from nearpeak.terms.study_files import MACHINE, PLAN
from nearpeak.trace import trace as tracing
from nearpeak.tune import journal as tuning

NAME = "replaced.json"
SCHEMA = 1
STUDY = "study"  # in a folder of `nearpeak tune`: the study that confirms
LOGS = "logs"
TRACE = "trace.json"  # what the copy of a trace is called
FORMS: dict[str, Form[Any, Any]] = {
    form.name: form for form in (tuning.FORM, conforming.FORM, pairing.FORM)
}
# The types of all that is copied.
PUBLISHED = (
    Machine | Plan | Record | Explanation | tracing.Trace | Interrupted,
    *(form.lines for form in FORMS.values()),
)
Contents = dict[Path, Any]  # by the path in the copy: a struct, a list of records, or a text


class _AsRecorded(msgspec.Struct):
    """The variables of a record, before it withholds those that are secret by their names: older
    recordings hold them, and messages may repeat them."""

    env: Variables = {}


class Replaced(msgspec.Struct, kw_only=True, frozen=True):
    """The replaced names of one kind, counted."""

    kind: Kind
    names: int  # different ones
    places: int


class Summary(msgspec.Struct, kw_only=True, frozen=True):
    """replaced.json."""

    schema: int
    nearpeak: str  # the version that published
    logs: bool  # whether these are in the copy
    replaced: list[Replaced]  # of those kinds of which there was one


def publish(
    folder: Path, output: Path, *, logs: bool = False, hidden: Iterable[str] = ()
) -> Summary:
    """Writes a copy into a new folder: of a study, of a search for settings with its study, of
    a conformance run, of all pairs of nodes, or of the file of a trace.

    `logs`: with the output of launches. `hidden`: further words that are private.

    Raises:
        UserError: none of them exists, it cannot be read, or the new folder is not empty or cannot
            be made. Then nothing is left in it.
    """
    check_new(output, can_resume=False)
    contents = dict(_trace(folder) if folder.is_file() else _recorded(folder))
    if not contents:
        raise UserError(
            f"there is no study in {folder}: give the folder that `nearpeak study`, "
            "`nearpeak tune`, `nearpeak conform` or `nearpeak nodes` wrote, or the file of "
            "`nearpeak trace`"
        )
    if folder.is_dir() and output.resolve().is_relative_to(folder.resolve()):
        raise UserError(f"{output} is inside {folder}: choose a folder outside of it with -o")
    records = [_lines(folder / path, _AsRecorded) for path in contents if path.name == journal.NAME]
    for subfolder in [Path(LOGS), Path(STUDY, LOGS)] if logs else []:
        contents |= _texts(folder, subfolder)
    names = _learned([*contents.values(), *records], hidden)
    files = dict(_copied(contents, names, logs=logs))
    for path, text in _texts(folder, Path(conforming.CASES)):  # as command lines name them
        files[path.with_name(Path(names.replace(f"/{path}")).name)] = _encoded(text)
    summary = Summary(
        schema=SCHEMA,
        nearpeak=nearpeak.__version__,
        logs=logs,
        replaced=[
            Replaced(kind=kind, names=names.names(kind), places=names.places[kind])
            for kind in KINDS
            if names.places[kind]
        ],
    )
    files[Path(NAME)] = _encoded(summary)
    _write(output, files)
    return summary


def _recorded(folder: Path) -> Iterator[tuple[Path, Any]]:
    """Yields the content of each file of studies and runs; UserError for one that is damaged."""
    for part in (Path(), Path(STUDY)):
        if (folder / part / PLAN).is_file():
            for path, content in _study(folder / part):
                yield part / path, content
    for name, form in FORMS.items():
        if (folder / name).is_file():
            form.read(folder)  # UserError where it is none
            yield Path(name), _lines(folder / name, form.lines | Interrupted)


def _study(folder: Path) -> Iterator[tuple[Path, Any]]:
    load(folder)  # UserError if any of it is damaged
    yield Path(MACHINE), _decoded(folder / MACHINE, Machine)
    yield Path(PLAN), _decoded(folder / PLAN, Plan)
    yield Path(journal.NAME), _lines(folder / journal.NAME, Record)
    files = sorted((folder / FOLDER).glob("*.json"))
    for file, explanation in zip(files, read_explanations(folder), strict=True):
        yield Path(FOLDER, file.name), explanation


def _decoded(file: Path, kind: Any) -> Any:
    return msgspec.json.decode(file.read_bytes(), type=kind, dec_hook=journal.decode_path)


def _lines(file: Path, kind: Any) -> list[Any]:
    """The records of a file, without a half line at the end; UserError."""
    decode = msgspec.json.Decoder(kind, dec_hook=journal.decode_path).decode
    try:
        return list(map(decode, whole_lines(file)))
    except (OSError, *UNDECODABLE) as error:
        raise UserError(f"{file} cannot be read ({error}): take it from a copy") from None


def _trace(file: Path) -> Iterator[tuple[Path, Any]]:
    """Yields the content of the file of a trace; UserError if it is none."""
    try:
        trace = _decoded(file, tracing.Trace)
    except (OSError, *UNDECODABLE) as error:
        raise UserError(
            f"{file} is no trace ({error}): give the file of `nearpeak trace -o`"
        ) from None
    if trace.schema != tracing.SCHEMA:
        raise UserError(
            f"{file} has version {trace.schema} of the format of traces: publish it with the "
            "nearpeak that wrote it"
        )
    yield Path(TRACE), trace


def _texts(folder: Path, subfolder: Path) -> Iterator[tuple[Path, str]]:
    """Yields the files of a subfolder with their paths in `folder`; UserError."""
    source = folder / subfolder
    files = sorted(source.iterdir()) if source.is_dir() else []
    for file in (file for file in files if file.is_file() and not file.is_symlink()):
        try:
            yield subfolder / file.name, file.read_bytes().decode(errors="surrogateescape")
        except OSError as error:
            raise UserError(f"{file} cannot be read ({error.strerror}): make it readable") from None


def _learned(contents: Iterable[Any], hidden: Iterable[str]) -> Names:
    """The names in marked fields, and those that all texts tell."""
    texts: dict[Mark, dict[str, None]] = {mark: {} for mark in get_args(Mark)}
    variables: dict[tuple[str, str], None] = {}

    def gather(mark: Mark, text: str, variable: str) -> str:
        texts[mark][text] = None
        if variable:
            variables[variable, text] = None
        return text

    for content in contents:
        changed(content, gather)
    releases = (text.rpartition(" ")[2] for text in texts["release"])
    names = Names([*texts.pop("kept"), *releases], hidden)
    for host in texts["host"]:
        names.host(host)
    for gpu in texts["gpu"]:
        names.gpu(gpu)
    for path in chain(texts["folder"], texts["variables"]):
        names.folder(path)
    for variable, value in variables:
        if not may_stay(variable, value):
            names.variable(variable, value)
    names.learn(chain(*texts.values(), map("=".join, variables)))
    return names


def _copied(contents: Contents, names: Names, *, logs: bool) -> Iterator[tuple[Path, bytes]]:
    """Yields the files of the copy."""

    def replaced(mark: Mark, text: str, variable: str) -> str:
        return text if mark == "kept" else names.value(variable, text)

    copies = {path: changed(content, replaced) for path, content in contents.items()}
    for path, content in copies.items():
        if not isinstance(content, list):
            yield path, _encoded(content)
        elif path.name in FORMS:
            if hasattr(content[0], "published"):
                content[0].published = nearpeak.__version__
            yield path, FORMS[path.name].encode(content)
        else:
            digests = _settings(path, contents), _settings(path, copies)
            renamed = dict(zip(*digests, strict=True))
            files = {name: digest_of(_encoded(copies[path.with_name(name)])) for name in FILES}
            yield path, _sealed(content, files, renamed, logs=logs)


def _settings(path: Path, contents: Contents) -> list[str]:
    """The digests of the settings of all contenders of a study; `path`: that of its records."""
    contenders = list(contents[path.with_name(PLAN)].contenders)
    for record in contents[path]:
        if isinstance(record, AmendmentRecord):
            contenders += record.adds.contenders
    return [settings_digest(contender.settings) for contender in contenders]


def _sealed(
    records: Iterable[Record], files: dict[str, str], renamed: dict[str, str], *, logs: bool
) -> bytes:
    """The records of a study's copy. `files`: digests of what lies next to them; `renamed`: digests
    of settings, each with that of the same settings with stand-ins."""
    lines, seal = [], Seal()
    encode = msgspec.json.Encoder(enc_hook=str).encode
    for record in records:
        if isinstance(record, StudyRecord):
            record.files = files
            record.published = Published(nearpeak=nearpeak.__version__, logs=logs)
        elif isinstance(record, SessionRecord):
            library = record.fingerprint.library
            library |= {name: renamed.get(value, value) for name, value in library.items()}
        elif isinstance(record, LaunchEndRecord) and not logs:
            record.log = None
        lines.append(seal.line(record, encode))
        seal.take(lines[-1])
    return b"".join(lines)


def _encoded(content: Any) -> bytes:
    if isinstance(content, str):
        return content.encode(errors="surrogateescape")
    return msgspec.json.format(msgspec.json.encode(content, enc_hook=str), indent=1) + b"\n"


def _write(output: Path, files: dict[Path, bytes]) -> None:
    """Makes the folder whole, or not at all; UserError."""
    check_output(output)
    output = output.resolve()
    try:
        with tempfile.TemporaryDirectory(prefix=f".{output.name}.", dir=output.parent) as temporary:
            complete = Path(temporary, "copy")
            for path, data in files.items():
                make_inside((complete / path).parent)
                put_whole(complete / path, data)
            complete.chmod(0o755)
            complete.rename(output)
        sync(output.parent)
    except OSError as error:
        raise UserError(
            f"cannot write {output} ({error.strerror}): choose another folder with -o"
        ) from None
