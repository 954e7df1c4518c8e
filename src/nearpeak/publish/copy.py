# SPDX-License-Identifier: Apache-2.0
"""Copies what `nearpeak study`, `tune`, `conform`, `nodes` or `trace` wrote, with stand-ins for
what is private in it.

The digests of a study's copy are those of its own lines, and its first record says that it is one.
"""

import shutil
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import msgspec

import nearpeak
from nearpeak.conform import journal as conforming
from nearpeak.errors import UserError
from nearpeak.files import check_output, digest_of, make_inside, put_whole, sync
from nearpeak.journal import Interrupted, whole_lines
from nearpeak.launching.fingerprints import settings_digest
from nearpeak.libraries.library import Settings
from nearpeak.machine.machine import Machine
from nearpeak.nodes import journal as pairing
from nearpeak.observations.explained import FOLDER, Explanation, read_explanations, to_json
from nearpeak.observations.load import load
from nearpeak.planning.plan import Plan
from nearpeak.publish.names import KINDS, Kind, Names
from nearpeak.publish.variables import FIELDS, may_stay, variables
from nearpeak.study import journal
from nearpeak.study.folder import check_new, written
from nearpeak.study.records import (
    LaunchEndRecord,
    Published,
    Record,
    SessionRecord,
    StudyRecord,
)
from nearpeak.study.seal import Seal
from nearpeak.terms.study_files import MACHINE, PLAN
from nearpeak.trace import trace as tracing
from nearpeak.tune import journal as tuning

NAME = "replaced.json"
SCHEMA = 1
STUDY = "study"  # in a folder of `nearpeak tune`: the study that confirms
LOGS = "logs"
TRACE = "trace.json"  # what the copy of a trace is called
JOURNALS: tuple[Any, ...] = (tuning, conforming, pairing)  # modules
# Lines that say which version a library has.
LIBRARIES = {record.__struct_config__.tag for record in (conforming.Contended, pairing.Begin)}
T = TypeVar("T")
# Values of these names are words of Nearpeak's or of the machine's vendors, or are random.
VOCABULARY = {
    *("record", "study", "id", "digest", "nearpeak", "started", "created", "tried", "program"),
    *("benchmark", "benchmarks", "metric", "axes", "buffers", "method", "methods", "needs"),
    *("unit", "units", "better", "role", "status", "severity", "kind", "transport", "operation"),
    *("family", "abi", "origin", "version", "vendor", "architecture", "bios", "microcode"),
    *("operations", "memories", "allocator", "allocators", "check", "depth", "alone"),
    *("made_by", "memory", "peer"),  # of traces
}


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


@dataclass
class _Study:
    """The files of a study, as plain values."""

    where: Path  # in the folder, and in its copy
    machine: Any
    plan: Any
    records: list[Any]
    explanations: dict[str, Any] = field(default_factory=dict)


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
    trace = _trace(folder) if folder.is_file() else None
    studies = [_read(folder, part) for part in (Path(), Path(STUDY)) if _is_study(folder / part)]
    runs = [
        (module, _run(folder, module)) for module in JOURNALS if (folder / module.NAME).is_file()
    ]
    if not studies and not runs and trace is None:
        raise UserError(
            f"there is no study in {folder}: give the folder that `nearpeak study`, "
            "`nearpeak tune`, `nearpeak conform` or `nearpeak nodes` wrote, or the file of "
            "`nearpeak trace`"
        )
    if folder.is_dir() and output.resolve().is_relative_to(folder.resolve()):
        raise UserError(f"{output} is inside {folder}: choose a folder outside of it with -o")
    texts = dict(_texts(folder, [LOGS, f"{STUDY}/{LOGS}"] if logs else []))
    cases = dict(_texts(folder, [conforming.CASES]))
    lines = [line for _, run in runs for line in run]
    names = Names(_kept(studies, lines, trace), hidden)
    for study in studies:
        _add_names(names, study)
    for line in [*lines, *(trace["ranks"] if trace else [])]:
        names.host(line.get("host"))
        for node in line.get("chosen", {}).get("nodes", []):
            names.host(node)
    for name, value in variables(
        [*([s.machine, s.plan, s.records, s.explanations] for s in studies), lines, trace]
    ):
        if not may_stay(name, value):
            names.variable(name, value)
    names.learn(_all_texts([*studies, lines, trace, list(texts.values())]))
    files: dict[Path, bytes] = {}
    for study in studies:
        files |= _copied(study, names, logs=logs)
    for module, run in runs:
        kinds = module.Record | Interrupted
        records = [_convert(_replaced(line, names), kinds) for line in run]
        if isinstance(records[0], (conforming.Begin, pairing.Begin)):
            records[0].published = nearpeak.__version__
        files[Path(module.NAME)] = module.FORM.encode(records)
    if trace:
        copied = _convert(_replaced(trace, names), tracing.Trace)
        files[Path(TRACE)] = msgspec.json.format(msgspec.json.encode(copied), indent=1) + b"\n"
    for path, text in texts.items():
        files[path] = names.replace(text).encode(errors="surrogateescape")
    for path, text in cases.items():  # as command lines name them
        renamed = names.replace(f"/{path}")
        files[path.with_name(Path(renamed).name)] = text.encode(errors="surrogateescape")
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
    files[Path(NAME)] = msgspec.json.format(msgspec.json.encode(summary), indent=1) + b"\n"
    _write(output, files)
    return summary


def _is_study(folder: Path) -> bool:
    return (folder / PLAN).is_file()


def _read(folder: Path, part: Path) -> _Study:
    study_folder = folder / part
    load(study_folder)  # UserError if any of it is damaged
    read_explanations(study_folder)
    return _Study(
        where=part,
        machine=_json(study_folder / MACHINE),
        plan=_json(study_folder / PLAN),
        records=_lines(study_folder / journal.NAME),
        explanations={
            file.name: _json(file) for file in sorted((study_folder / FOLDER).glob("*.json"))
        },
    )


def _json(file: Path) -> Any:
    return msgspec.json.decode(file.read_bytes())


def _lines(file: Path) -> list[Any]:
    """The values of a file of lines, without a half line at the end; UserError."""
    try:
        return list(map(msgspec.json.decode, whole_lines(file)))
    except (OSError, msgspec.MsgspecError) as error:
        raise UserError(f"{file} cannot be read ({error}): take it from a copy") from None


def _run(folder: Path, module: Any) -> list[Any]:
    """The lines of a run's journal; UserError where it is none."""
    module.read(folder)
    return _lines(folder / module.NAME)


def _trace(file: Path) -> Any:
    """The content of the file of a trace; UserError if it is none."""
    try:
        plain = _json(file)
        schema = msgspec.convert(plain, tracing.Trace).schema
    except (OSError, msgspec.MsgspecError) as error:
        raise UserError(
            f"{file} is no trace ({error}): give the file of `nearpeak trace -o`"
        ) from None
    if schema != tracing.SCHEMA:
        raise UserError(
            f"{file} has version {schema} of the format of traces: publish it with the nearpeak "
            "that wrote it"
        )
    return plain


def _texts(folder: Path, folders: Iterable[str]) -> Iterator[tuple[Path, str]]:
    """Yields the files of these subfolders with their paths in `folder`; UserError."""
    for subfolder in map(Path, folders):
        source = folder / subfolder
        for file in sorted(source.iterdir()) if source.is_dir() else ():
            if file.is_symlink() or not file.is_file():
                continue
            try:
                yield subfolder / file.name, file.read_bytes().decode(errors="surrogateescape")
            except OSError as error:
                raise UserError(
                    f"{file} cannot be read ({error.strerror}): make it readable"
                ) from None


def _kept(studies: Iterable[_Study], lines: Iterable[Any], trace: Any) -> Iterator[str]:
    """Texts that look like names and are none: the ids of paths, and versions of four numbers."""
    for line in lines:
        if line["record"] == tuning.Begin.__struct_config__.tag:
            yield line["path"]
        elif line["record"] in LIBRARIES:
            yield line["version"]
    if trace:
        yield trace["library"].rpartition(" ")[2]  # its version
        yield from (ceiling["path"] for ceiling in trace.get("ceilings", []))
    for study in studies:
        yield from (path["id"] for path in study.plan["paths"])
        yield from (contender["library"]["version"] for contender in _contenders(study))


def _contenders(study: _Study) -> list[Any]:
    added = (record.get("adds", {}).get("contenders", []) for record in study.records)
    return [
        *study.plan["contenders"],
        *(contender for contenders in added for contender in contenders),
    ]


def _add_names(names: Names, study: _Study) -> None:
    """Adds the names in the fields of a study, in this order."""
    names.host(study.machine["hostname"])
    for gpu in study.machine.get("gpus", []):
        names.gpu(gpu["uuid"])
    for host in study.plan["hosts"]:
        names.host(host)
    for path in study.plan["paths"]:
        for end in path["ends"]:
            names.host(end.get("host"))
    for contender in _contenders(study):
        library = contender["library"]
        for path in (library["prefix"], library["launcher"], library["libmpi"]):
            names.folder(str(Path(path).parent))
            names.folder(path)
        for value in library.get("env", {}).values():
            names.folder(value)
    for record in study.records:
        for rank in record.get("ranks") or []:
            if isinstance(rank, dict):  # of an environment, and not of samples
                names.host(rank.get("host"))
    for explanation in study.explanations.values():
        names.host(explanation["host"])


def _all_texts(value: Any, called: str = "") -> Iterator[tuple[str, str]]:
    """Yields every text, with the name of its value."""
    if isinstance(value, str):
        yield value, called
    elif isinstance(value, _Study):
        for part in (value.machine, value.plan, value.records, value.explanations):
            yield from _all_texts(part)
    elif isinstance(value, list):
        if not (value and isinstance(value[0], float)):  # samples
            for item in value:
                yield from _all_texts(item, called)
    elif isinstance(value, dict):
        for name, item in value.items():
            if name not in VOCABULARY:
                yield from _all_texts(item, name)


def _replaced(value: Any, names: Names) -> Any:
    """The value with stand-ins, also in keys that are not fields."""
    if isinstance(value, str):
        return names.replace(value)
    if isinstance(value, list):
        return [_replaced(item, names) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        name if name.isidentifier() else names.replace(name): (
            item
            if name in VOCABULARY
            else _of_variables(item, names)
            if name in FIELDS and isinstance(item, dict)
            else _replaced(item, names)
        )
        for name, item in value.items()
    }


def _of_variables(environment: dict[str, Any], names: Names) -> dict[str, Any]:
    return {
        name if name.isidentifier() else names.replace(name): (
            names.value(name, value) if isinstance(value, str) else value
        )
        for name, value in environment.items()
    }


def _convert(value: Any, kind: Any) -> Any:
    return msgspec.convert(value, kind, dec_hook=journal.decode_path, str_keys=True)


def _copied(study: _Study, names: Names, *, logs: bool) -> dict[Path, bytes]:
    """The files of the study's copy."""
    machine = written(_convert(_replaced(study.machine, names), Machine))
    plan = written(_convert(_replaced(study.plan, names), Plan))
    files = {MACHINE: machine, PLAN: plan}
    digests = {name: digest_of(data) for name, data in files.items()}
    renamed = dict(_digests(study, names))
    lines, seal = [], Seal()
    encode = msgspec.json.Encoder(enc_hook=str).encode
    for plain in study.records:
        record: Record = _convert(_replaced(plain, names), Record)
        if isinstance(record, StudyRecord):
            record.files = digests
            record.published = Published(nearpeak=nearpeak.__version__, logs=logs)
        elif isinstance(record, SessionRecord):
            library = record.fingerprint.library
            library |= {name: renamed.get(value, value) for name, value in library.items()}
        elif isinstance(record, LaunchEndRecord) and not logs:
            record.log = None
        lines.append(seal.line(record, encode))
        seal.take(lines[-1])
    files[journal.NAME] = b"".join(lines)
    for name, plain in study.explanations.items():
        text = to_json(_convert(_replaced(plain, names), Explanation))
        files[str(Path(FOLDER, name))] = text.encode()
    return {study.where / name: data for name, data in files.items()}


def _digests(study: _Study, names: Names) -> Iterator[tuple[str, str]]:
    """Digests of settings, each with that of the same settings with stand-ins."""
    counted = names.places.copy()
    for contender in _contenders(study):
        plain = contender["settings"]
        yield tuple(
            settings_digest(_convert(settings, Settings))
            for settings in (plain, _replaced(plain, names))
        )  # type: ignore[misc]  # two
    names.places = counted


def _write(output: Path, files: dict[Path, bytes]) -> None:
    """Makes the folder whole, or not at all; UserError."""
    check_output(output)
    output = output.resolve()
    try:
        temporary = Path(tempfile.mkdtemp(prefix=f".{output.name}.", dir=output.parent))
        try:
            for path, data in files.items():
                file = temporary / path
                make_inside(file.parent)
                put_whole(file, data)
            temporary.chmod(0o755)
            temporary.rename(output)
            sync(output.parent)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
    except OSError as error:
        raise UserError(
            f"cannot write {output} ({error.strerror}): choose another folder with -o"
        ) from None
