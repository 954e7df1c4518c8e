# SPDX-License-Identifier: Apache-2.0
"""The facts that the numbers of launches depend on here and now
(docs/reference/reading-records.md)."""

import contextlib
import hashlib
import os
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from nearpeak import folders
from nearpeak.files import digest, working_folder
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
from nearpeak.machine.tree import format_list
from nearpeak.terms.fingerprints import PROGRAM
from nearpeak.terms.private import FreeText, Variables


class Fingerprint(msgspec.Struct, kw_only=True, frozen=True):
    """The facts that a session's numbers depend on, as names and values for people, of the host on
    which the study was started."""

    # `host`, `cpu`, `cpus`, `kernel`, `memory`, `virtual`, `gpu UUID`; if known `product`, `bios`,
    # `microcode`, `governor`; `settings FILE`: SHA-256 of a user's file that libraries read
    machine: dict[FreeText, FreeText]
    # `nvidia`, `cuda` (newest that it runs), `amdgpu`, `DEVICE firmware` of an RDMA adapter, if
    # present
    driver: dict[FreeText, FreeText]
    # `NAME version`, `NAME path`, `NAME file` (SHA-256), `NAME lacks`, `NAME modules` (that should
    # load and do not), `NAME@SETTINGS settings` (SHA-256)
    library: dict[FreeText, FreeText]
    # SHA-256 of `nearpeak-native` and of `nearpeak-mpi NAME` for each library; `compiler`, if
    # recorded
    build: dict[FreeText, FreeText]
    environment: Variables  # settings of libraries that every launch inherits


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
    return hashlib.sha256(msgspec.json.encode(settings, order="sorted")).hexdigest()


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
