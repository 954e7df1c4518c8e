# SPDX-License-Identifier: Apache-2.0
"""Checks that a library is complete: lists the modules that load here, and why others do not.

UCX, Open MPI and libfabric silently ignore a module that does not load: they then lack a transport,
or treat device memory as host memory. A module for hardware that this machine does not have is no
fault.
"""

import functools
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

import msgspec

from nearpeak.grouping import grouped
from nearpeak.libraries import catalogue, loading
from nearpeak.libraries.families import is_native
from nearpeak.libraries.identify import CannotIdentify, ask
from nearpeak.libraries.launch import environment
from nearpeak.libraries.library import Library
from nearpeak.machine.discover import discover
from nearpeak.machine.machine import Machine
from nearpeak.numbers import agreeing, count, listed

LIMIT_SECONDS = 600.0  # for all modules of a library
QUESTION = "\nprint()\nprint(answer(sys.argv[1]))\n"  # UCX may have printed before
LOG = {"UCX_MEM_LOG_LEVEL": "info"}  # UCX then prints how many hooks it installs
# Prefixes of libraries that come with hardware or its driver -> the hardware, as `hardware` names
# it; "": no file of a machine shows it.
BROUGHT = {
    "libcuda.so": "nvidia",
    "libcudart.so": "nvidia",
    "libnvidia-ml.so": "nvidia",
    "libgdrapi.so": "",  # not every machine with GPUs has this driver
    "libamdhip64.so": "amd",
    "libhsa-runtime64.so": "amd",
    "libze_loader.so": "",
    "libibverbs.so": "rdma",
    "librdmacm.so": "rdma",
    "libmlx5.so": "mlx5",
    "libefa.so": "efa",
    "libcxi.so": "",
    "libknem.so": "",
    "libpsm2.so": "",
    "libpsm_infinipath.so": "",
    "libxpmem.so": "",
}
VERBS = Path("/dev/infiniband")  # containers without it see adapters that they cannot use
# The consequence of a module that does not load, by the prefix of its name.
WITHOUT = {
    "libucm_": "UCX does not hear of memory that GPUs allocate, and may take it for the host's",
    "libuct_": "UCX lacks its transports",
    "libucx_perftest_": "ucx_perftest lacks its kinds of memory",
    "mca_": "Open MPI lacks this component",
    "": "libfabric lacks this provider",
}


class Module(msgspec.Struct, kw_only=True, frozen=True):
    """One module, and the result of loading it."""

    file: str  # its path
    missing: list[str] = []  # libraries that it needs, and that the loader does not find
    error: str = ""  # the loader's message where it does not load; "": it loads

    @property
    def name(self) -> str:
        """The name of its file."""
        return Path(self.file).name


class Modules(msgspec.Struct, kw_only=True, frozen=True):
    """All modules of a library."""

    modules: list[Module] = []
    # The number of CUDA calls that UCX watches for allocations, by API; None: no UCX, or no driver.
    hooks: dict[str, int] | None = None

    def summary(self, faulty: int) -> str:
        """`5 of 7 load, 2 need hardware that is not here`, with the hooks where there is a driver.

        `faulty`: the number of modules that should load and do not.
        """
        loaded = sum(not module.error for module in self.modules)
        text = f"{loaded} of {len(self.modules)} load"
        if others := len(self.modules) - loaded - faulty:
            text += f", {others} {agreeing(others, 'needs', 'need')} hardware that is not here"
        if self.hooks is None:
            return text
        calls = [f"{count(number, 'call')} of the {api} API" for api, number in self.hooks.items()]
        return f"{text}; UCX watches {listed(calls) or 'no call'} of CUDA for allocations"


class Fault(msgspec.Struct, kw_only=True, frozen=True):
    """A module that should load here and does not."""

    module: str  # its file name
    what: str  # the fault, its reason and its consequence
    remedy: str
    driver: bool  # only libraries that this machine's drivers bring are missing

    @property
    def text(self) -> str:
        """The fault and its remedy, in a line."""
        return f"{self.what}; {self.remedy}"


def look(library: Library) -> Modules:
    """Loads each module of a library in a separate process, in the environment of its launches.

    The result is cached. CannotIdentify where the library itself does not load.
    """
    if is_native(library):
        return Modules()
    return _look(library.libmpi, tuple(sorted(environment(library).items())))


@functools.cache
def _look(libmpi: Path, env: tuple[tuple[str, str], ...]) -> Modules:
    printed = ask(libmpi, loading.text() + QUESTION, {**dict(env), **LOG}, LIMIT_SECONDS)
    return msgspec.json.decode(printed.splitlines()[-1], type=Modules)


def faults(library: Library, machine: Machine | None = None) -> list[Fault]:
    """The modules of a library that should load on this machine and do not; none where the library
    itself does not load.

    `machine`: what `discover` returns, where the caller has it.
    """
    try:
        broken = [module for module in look(library).modules if module.error]
    except CannotIdentify:
        return []
    has = hardware(machine or discover()) if broken else set()
    return [fault for module in broken for fault in _faults(library, module, has)]


def hardware(machine: Machine) -> set[str]:
    """The hardware of a machine that brings libraries: vendors of GPUs, kinds of RDMA adapters."""
    adapters = [nic.verbs for nic in machine.nics if nic.verbs] if VERBS.is_dir() else []
    kinds = {adapter.partition("_")[0] for adapter in adapters}
    return {gpu.vendor for gpu in machine.gpus} | kinds | ({"rdma"} if adapters else set())


def lines(library: Library) -> Iterator[str]:
    """The lines of `nearpeak mpi show`: the number of loaded modules, and each other's reason."""
    try:
        modules = look(library)
    except CannotIdentify as error:
        yield f"they cannot be looked at: {error}"
        return
    broken = {fault.module: fault.text for fault in faults(library)}
    yield modules.summary(len(broken))
    for module in modules.modules:
        if module.error:
            needs = f"{module.name} needs {_missing(module.missing, 'here')}"
            yield broken.get(module.name, needs)


def not_whole(library: Library, fault: Fault) -> str:
    """The line for a fault of a library."""
    return f"{library.name} is not whole: {fault.text}"


def _faults(library: Library, module: Module, has: Collection[str]) -> Iterator[Fault]:
    """The fault of a module that does not load.

    None if all libraries that it lacks come with hardware, of which this machine `has` nothing.
    """
    by_hardware = grouped(module.missing, _brought_by)
    ordinary = by_hardware.get(None, [])
    missing = ordinary or [name for name in module.missing if _brought_by(name) in has]
    if module.missing and not missing:
        return
    driver = bool(missing) and not ordinary
    error = module.error.replace(f"{Path(module.file).parent}/", "")
    reason = _missing(missing, "found").replace(", which", "") if missing else error
    yield Fault(
        module=module.name,
        what=f"{module.name} does not load ({reason}): {_of_prefix(module.name, WITHOUT)}",
        remedy=_remedy(library, Path(module.file), missing, driver=driver),
        driver=driver,
    )


def _missing(names: list[str], state: str) -> str:
    return f"{listed(names)}, which {agreeing(len(names), 'is', 'are')} not {state}"


def _of_prefix(name: str, texts: Mapping[str, str]) -> str | None:
    """The first of the texts whose key a name begins with; None: there is none."""
    return next((text for begin, text in texts.items() if name.startswith(begin)), None)


def _brought_by(name: str) -> str | None:
    """The hardware that a library comes with, as in BROUGHT; None: with none."""
    return _of_prefix(name, BROUGHT)


def _remedy(library: Library, file: Path, missing: list[str], *, driver: bool) -> str:
    install = f"install {listed(missing)}"
    if driver:
        return f"{install} of the driver, or put its folder into LD_LIBRARY_PATH"
    prefixes = [entry.prefix for entry in catalogue.entries().values() if library.entry]
    for prefix in prefixes:
        if file.resolve().is_relative_to(prefix.resolve()):
            return f"remove {prefix} and run `nearpeak mpi add {library.entry}`"
    if missing:
        return f"{install}, or put its folder into LD_LIBRARY_PATH"
    return "install the library again"
