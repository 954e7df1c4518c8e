# SPDX-License-Identifier: Apache-2.0
"""Sessions: every run of a study, and the facts that its numbers depend on, so that no two are
mixed unseen.

docs/reference/records.md describes the facts in a fingerprint.
"""

import contextlib
import datetime
import hashlib
import os
import socket
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, zip_longest
from pathlib import Path

import msgspec

import nearpeak
from nearpeak import folders
from nearpeak.errors import UserError
from nearpeak.files import working_folder
from nearpeak.launching.command_lines import Tools
from nearpeak.libraries import nccl
from nearpeak.libraries.build import compiler_of
from nearpeak.libraries.families import is_ceiling, is_native, mode_of
from nearpeak.libraries.identify import CannotIdentify, version_text
from nearpeak.libraries.launch import environment
from nearpeak.libraries.library import Contender, Library, Settings
from nearpeak.libraries.whole import faults
from nearpeak.machine.doctor import settings_in, user_settings_files
from nearpeak.machine.machine import Machine, Provenance
from nearpeak.machine.states import State, StateReader
from nearpeak.machine.tree import format_list
from nearpeak.numbers import printable
from nearpeak.study.commands import launch_ends, wanted_place
from nearpeak.study.plan import Plan, PlannedLaunch
from nearpeak.study.records import Fingerprint, SessionRecord
from nearpeak.study.seal import digest
from nearpeak.terms.fingerprints import PROGRAM, changes, common, shown


def begin(
    folder: Path, now: Fingerprint, last: SessionRecord | None, *, force: bool = False
) -> SessionRecord:
    """Returns the session that begins in a study folder, after the last one that was recorded
    there.

    UserError when that was of another fingerprint, unless that is forced.
    """
    if last and not force and (changed := differences(last.fingerprint, now)):
        raise UserError(
            f"{folder} was measured on something else ({'; '.join(changed)}): measure on the same, "
            "start anew in another folder, or go on as a session of its own with --force"
        )
    return SessionRecord(
        session=last.session + 1 if last else 0,
        started=utc_now(),
        nearpeak=nearpeak.__version__,
        fingerprint=now,
        forced=force,
    )


def differences(before: Fingerprint, now: Fingerprint) -> list[str]:
    """Returns the differences, like `driver nvidia: 580.159 -> 590.1`, except for added
    libraries."""
    changed = list(changes(*common(*map(msgspec.to_builtins, (before, now)))))
    parts = Fingerprint.__struct_fields__
    changed.sort(key=lambda change: (parts.index(change.part), change.name))
    return [
        f"{change.part} {printable(change.name)}: " + " -> ".join(shown(change.before, change.now))
        for change in changed
    ]


def fingerprint(machine: Machine, contenders: Sequence[Contender], tools: Tools) -> Fingerprint:
    """Returns the fingerprint of contenders here and now; programs are built where they are
    missing."""
    return Fingerprint(
        machine={**_machine(machine), **_settings_files()},
        driver=_driver(machine.provenance),
        library=_library(contenders, machine),
        build=_build(contenders, tools),
        environment=dict(sorted(settings_in(os.environ).items())),
    )


def launch_state(reader: StateReader, plan: Plan, planned: PlannedLaunch) -> State:
    """Returns the state of the parts of this host that a launch uses."""
    local_names = (None, "localhost", socket.gethostname())
    first = planned.groups[0]
    wanted = wanted_place(plan, planned, first)
    ranks = [
        cpus for cpus, host in zip(wanted.cpus, wanted.hosts, strict=True) if host in local_names
    ]
    in_turn = chain.from_iterable(zip_longest(*ranks))  # each rank's first, each one's second, ...
    ends = (
        plan.find_path(planned.path).ends if len(wanted.hosts) == 1 else launch_ends(plan, planned)
    )
    return reader.read(
        dict.fromkeys(cpu for cpu in in_turn if cpu is not None),
        dict.fromkeys(end.gpu for end in ends if end.gpu and end.host in local_names),
    )


def utc_now() -> str:
    """The time of day as records have it."""
    return datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="milliseconds")


def _machine(machine: Machine) -> dict[str, str]:
    sizes = [node.memory_bytes or 0 for node in machine.numa_nodes if node.memory == "host"]
    provenance = machine.provenance
    return _without_empty(
        {
            "host": machine.hostname,
            "product": provenance.product,
            "bios": provenance.bios,
            "cpu": machine.cpu_model,
            "cpus": format_list(machine.allowed_cpus),
            "kernel": machine.kernel,
            # That of a virtual machine may grow while it runs.
            "memory": None if machine.virtual else f"{sum(sizes) / 2**30:.0f} GiB",
            "virtual": "yes" if machine.virtual else "no",
            **{f"gpu {gpu.uuid}": gpu.name for gpu in machine.gpus},
            "microcode": provenance.microcode,
            "governor": provenance.governor,
        }
    )


def _settings_files() -> dict[str, str]:
    """Returns the SHA-256 of each existing file of settings that libraries read by default."""
    home = folders.home()
    digests = {}
    for file in user_settings_files(dict(os.environ), working_folder()):
        below = home in file.parents
        name = f"~/{file.relative_to(home)}" if below else str(file)
        with contextlib.suppress(OSError):  # most are not there
            digests[f"settings {name}"] = digest(file)
    return digests


def _driver(provenance: Provenance) -> dict[str, str]:
    return _without_empty(
        {
            "nvidia": provenance.nvidia_driver,
            "cuda": provenance.cuda_driver_api,
            "amdgpu": provenance.amdgpu_driver,
            **{f"{name} firmware": word for name, word in provenance.adapter_firmware.items()},
        }
    )


def _without_empty(facts: Mapping[str, str | None]) -> dict[str, str]:
    return {name: value for name, value in facts.items() if value}


def _library(contenders: Sequence[Contender], machine: Machine) -> dict[str, str]:
    facts = {}
    for library in _libraries(contenders):
        facts[f"{library.name} version"] = _version(library)
        facts[f"{library.name} path"] = str(library.libmpi.resolve())
        with contextlib.suppress(OSError):
            facts[f"{library.name} file"] = digest(
                library.libmpi
            )  # a rebuilt library reports the same version
        if library.lacks:
            facts[f"{library.name} lacks"] = library.lacks
        if broken := faults(library, machine):
            facts[f"{library.name} modules"] = "\n".join(fault.what for fault in broken)
    for contender in contenders:
        name = f"{contender.library.name}@{contender.settings.name} settings"
        facts[name] = settings_digest(contender.settings)
    return facts


def settings_digest(settings: Settings) -> str:
    """SHA-256 of the settings of a contender."""
    fields = msgspec.structs.asdict(settings)
    if not settings.unset:
        del fields["unset"]  # older studies do not have it
    return hashlib.sha256(msgspec.json.encode(fields, order="sorted")).hexdigest()


def _version(library: Library) -> str:
    """Returns the version that the library reports now, which may differ from the plan's."""
    try:
        if mode_of(library):
            return nccl.version_text(library.libmpi, library.family)
        return version_text(library.libmpi, environment(library)).strip()
    except CannotIdentify as error:
        return f"unknown ({error})"


def _build(contenders: Sequence[Contender], tools: Tools) -> dict[str, str]:
    native = tools.native_program()
    facts = {"nearpeak-native": digest(native)}
    for library in _libraries(contenders):
        if not is_native(library):
            facts[PROGRAM + library.name] = digest(tools.mpi_program(library))
    if compiler := compiler_of(native):
        facts["compiler"] = compiler
    return facts


def _libraries(contenders: Sequence[Contender]) -> Iterable[Library]:
    """Returns each library once, without the ceilings."""
    named = {contender.library.name: contender.library for contender in contenders}
    return [library for library in named.values() if not is_ceiling(library)]
