# SPDX-License-Identifier: Apache-2.0
"""The MPI libraries of this machine, each as it describes itself."""

import itertools
import os
import re
import subprocess
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path

import msgspec

from nearpeak.errors import UserError, closest
from nearpeak.files import is_file, is_folder
from nearpeak.folders import expanded, home, searched
from nearpeak.grouping import firsts
from nearpeak.libraries import catalogue, launchers, modules, nccl
from nearpeak.libraries.families import Family, all_families, is_native, natives, recognise
from nearpeak.libraries.identify import LIMIT_SECONDS, CannotIdentify, may_ask, version_text
from nearpeak.libraries.launch import join_paths
from nearpeak.libraries.library import Discovery, Library, Settings
from nearpeak.numbers import in_brackets
from nearpeak.owners import check_kept, of_search_paths
from nearpeak.terms.logs import last_line

PREFIX_VARIABLES = ("MPI_HOME", "MPI_ROOT", "MPI_DIR", "I_MPI_ROOT", "MPICH_DIR", "HPCX_MPI_DIR")
USUAL_PREFIXES = (
    *("/usr", "/usr/local", "/usr/lib64/openmpi", "/usr/lib64/mpich*", "/usr/lib64/mvapich*"),
    *("/usr/lib64/mpi/gcc/*", "/usr/local/*mpi*", "/usr/local/mvapich*"),
    *("/opt/*", "/opt/*mpi*/*", "/opt/mvapich*/*", "/opt/intel/oneapi/mpi/*", "/opt/hpcx*/ompi"),
    *("/opt/cray/pe/mpich/default/ofi/gnu/*", "~/.local", "~/*mpi*", "~/opt/*", "~/sw/*"),
)
LIBRARY_FOLDERS = ("lib", "lib64", "lib/release", "lib-abi-mpich", "lib/*-linux-gnu*")
SONAME = re.compile(r"lib(mpi|mpich|mpi_ibm)\.so\.\d+")
# Variables of a module's environment that a launch needs, unlike MANPATH and others.
NEEDED_VARIABLES = re.compile(
    r"^(LD_LIBRARY_PATH|(OMPI|OPAL|PMIX|PRTE|UCX|UCC|HCOLL|FI|I_MPI|MPICH|MPIR|MV2|MVP|PSM[23])_.*)$"
)
LAYER = "+layer"  # suffix of a library's name: the layer is loaded before the library
LACKS = "nearpeak-lacks.txt"  # in a prefix: the parts left out of the library (bundle/trim.py)
SRUN = "srun"
FOUND_NAME = re.compile(r"(.+?)-\d.*")  # name of a discovered library: its family and version


class UnknownNameError(UserError):
    """No library has this name, on this machine or on another."""


def find_libraries() -> list[Library]:
    """Every library that can be used: ours, on PATH, in usual prefixes, from modules."""
    return discover().libraries


def discover() -> Discovery:
    """Finds every usable library, and the problems of others. Names are unique."""
    discovery = Discovery()
    seen: set[Path] = set()
    owners = of_search_paths(os.environ, PREFIX_VARIABLES)
    for entry in catalogue.libraries().values():
        if entry.installed:
            seen |= _look_at_entry(entry, discovery)
    for prefix in prefixes_on_path(searched("PATH")):
        _look(prefix, "path", discovery, seen, owners=owners)
    for prefix in usual_prefixes():
        _look(prefix, "prefix", discovery, seen, owners=owners)
    for module in modules.available():
        env = modules.environment_of(module)
        new = [*filter(None, env.get("PATH", "").split(":"))]
        new += [f"{env[name]}/bin" for name in PREFIX_VARIABLES if env.get(name)]
        folders = [folder for folder in map(Path, new) if folder not in searched("PATH")]
        modules_owners = owners | of_search_paths(env, PREFIX_VARIABLES, checked=os.environ)
        for prefix in prefixes_on_path(folders):
            _look(prefix, "module", discovery, seen, owners=modules_owners, env=env)
    return discovery


def resolve(spec: str) -> Library:
    """The library that a user means: a catalogue name, a name that `nearpeak mpi list` shows, a
    path to a prefix or to its mpirun, `ceiling`, `nccl` or the path of a libnccl.so, SPEC+layer for
    an MPI library with the layer, or NAME=SPEC for any of these under another name.

    UserError for anything else, with a remedy; UnknownNameError where no other machine can have it
    either.
    """
    if alias := re.fullmatch(r"([A-Za-z0-9][A-Za-z0-9._+-]*)=(.+)", spec):
        return msgspec.structs.replace(resolve(alias[2]), name=alias[1])
    if spec.endswith(LAYER) and not expanded(spec).exists():
        return _with_layer(resolve(spec.removesuffix(LAYER)))
    if spec in natives():
        return natives()[spec]
    if re.match(r"[~.]|.*/", spec):
        path = expanded(spec).absolute()
        return nccl.at_path(path) if nccl.is_file(path) else at_path(path)
    if nccl.is_name(spec):
        return nccl.resolve(spec)
    if spec in catalogue.libraries():
        return _of_catalogue(catalogue.entry(spec))
    libraries = {library.name: library for library in find_libraries()}
    if spec in libraries:
        return libraries[spec]
    if spec in all_families():
        raise UnknownNameError(
            f"no {all_families()[spec].title} was found here, and none can be added: load its"
            f" module, or name its prefix, like --mpi {spec}=/opt/{spec}"
        )
    names = sorted({*catalogue.libraries(), *natives(), *libraries})
    named = FOUND_NAME.fullmatch(spec)
    elsewhere = named is not None and named[1] in all_families()
    error = UserError if elsewhere else UnknownNameError
    raise error(f"unknown MPI library {spec!r}{closest(spec, names)}")


def _of_catalogue(entry: catalogue.Entry) -> Library:
    """An installed library of the catalogue; UserError with a remedy otherwise."""
    if not entry.installed:
        raise UserError(_not_installed(entry))
    _check_entry(entry)
    discovery = Discovery()
    _look_at_entry(entry, discovery)
    if not discovery.libraries:
        searched = os.environ.get("LD_LIBRARY_PATH")
        first = f"unset LD_LIBRARY_PATH, which is {searched}; else " if searched else ""
        raise UserError(
            f"{entry.name} in {entry.prefix} does not work ({'; '.join(discovery.problems)}): "
            f"{first}remove that folder and run `nearpeak mpi add {entry.name}`"
        )
    return discovery.libraries[0]


def _with_layer(library: Library) -> Library:
    if is_native(library):
        raise UserError(f"{library.name} is no MPI library: {LAYER} goes with those of MPI alone")
    if library.layer:
        raise UserError(f"{LAYER} is named twice: once will do")
    return msgspec.structs.replace(library, name=f"{library.name}{LAYER}", layer=True)


def _not_installed(entry: catalogue.Entry) -> str:
    """The message for a library of the catalogue that is not installed.

    It offers installed libraries of its family, unless the library is more than its family (with
    UCX for CUDA).
    """
    adding = f"`nearpeak mpi add {entry.name}`"
    alternatives = [library.name for library in find_libraries() if library.family == entry.family]
    if not alternatives or entry.base:
        return f"{entry.name} is not installed: run {adding}"
    return (
        f"{entry.name} is not installed, but this machine has {', '.join(alternatives)}: name that,"
        f" like --mpi {alternatives[0]}; or run {adding}"
    )


def at_path(path: Path) -> Library:
    """The library at a prefix, or the one that a launcher belongs to."""
    if not path.exists():
        raise UserError(f"there is no {path}: name an MPI library's prefix or its mpirun")
    prefixes = [path]
    if path.is_file():
        prefixes = [path.parent.parent, path.resolve().parent.parent]
    discovery = Discovery()
    for prefix in prefixes:
        if not discovery.libraries:
            _look(prefix, "given", discovery, set())
    mine = [
        library for library in discovery.libraries if path.is_dir() or _same_launcher(library, path)
    ]
    if len(mine) == 1:
        return mine[0]
    if mine:
        launchers = ", ".join(str(library.launcher) for library in mine)
        raise UserError(f"{path} holds several MPI libraries: name a launcher ({launchers})")
    reason = in_brackets("; ".join(discovery.problems))
    raise UserError(f"no MPI library that works at {path}{reason}: name its prefix or its mpirun")


def prefixes_on_path(folders: Iterable[Path]) -> list[Path]:
    """The prefixes of the launchers in folders of a search path, in its order, each once."""
    names = launchers.of_libraries()
    all_launchers = filter(is_file, (folder / name for folder in folders for name in names))
    prefixes = ((file.parent.parent, file.resolve().parent.parent) for file in all_launchers)
    return list(dict.fromkeys(itertools.chain.from_iterable(prefixes)))


def usual_prefixes() -> list[Path]:
    """The folders that the usual variables name, and the usual folders of libraries."""
    named = [Path(os.environ[name]) for name in PREFIX_VARIABLES if os.environ.get(name)]
    for pattern in USUAL_PREFIXES:
        absolute = Path(pattern.replace("~", str(home())))
        named += sorted(Path("/").glob(str(absolute.relative_to("/"))))
    return [*filter(is_folder, dict.fromkeys(named))]


def shared_libraries(prefix: Path) -> list[Path]:
    """The MPI libraries in a prefix, each by the name that programs link (its SONAME)."""
    folders = [folder for pattern in LIBRARY_FOLDERS for folder in sorted(prefix.glob(pattern))]
    files = [file for folder in folders for file in sorted(folder.glob("libmpi*.so.*"))]
    linked = [file for file in files if SONAME.fullmatch(file.name) and file.exists()]
    return list(firsts(linked, Path.resolve).values())


def _look_at_entry(entry: catalogue.Entry, discovery: Discovery) -> set[Path]:
    """Adds an installed library of the catalogue; returns the shared libraries that it has."""
    try:
        _check_entry(entry)
    except UserError as error:
        discovery.problems.append(str(error))
        return {file.resolve() for file in shared_libraries(entry.prefix)}
    env = entry.environment
    if "LD_LIBRARY_PATH" in env:
        inherited = os.environ.get("LD_LIBRARY_PATH", "")
        env["LD_LIBRARY_PATH"] = join_paths(env["LD_LIBRARY_PATH"], inherited)
    network = Settings(name="network", env=entry.network) if entry.network else None
    seen: set[Path] = set()
    _look(entry.prefix, "installed", discovery, seen, name=entry.name, env=env, network=network)
    return seen


def _check_entry(entry: catalogue.Entry) -> None:
    """UserError where others can exchange an installed library, or what it needs."""
    for name in (entry.name, *entry.needs):
        prefix = catalogue.entry(name).prefix
        for file in (prefix, *(prefix / "bin").glob("*"), *shared_libraries(prefix)):
            check_kept(file)


def _look(
    prefix: Path,
    origin: str,
    discovery: Discovery,
    seen: set[Path],
    *,
    owners: Collection[int] | None = None,
    name: str = "",
    env: Mapping[str, str] = {},
    network: Settings | None = None,
) -> None:
    """Adds the libraries of a prefix that are not `seen` to `discovery`.

    `owners`: as of `may_ask`; None for a prefix that the user named, or that was checked. `name`:
    that of its entry in the catalogue.
    """
    for libmpi in shared_libraries(prefix):
        if libmpi.resolve() in seen:
            continue
        seen.add(libmpi.resolve())
        if owners is not None and not may_ask(libmpi, owners, discovery):
            continue
        paths = env.get("LD_LIBRARY_PATH", os.environ.get("LD_LIBRARY_PATH", ""))
        environment = {**env, "LD_LIBRARY_PATH": join_paths(str(libmpi.parent), paths)}
        try:
            text = version_text(libmpi, environment)
        except CannotIdentify as error:
            discovery.problems.append(f"{libmpi}: {error}")
            continue
        recognised = recognise(text)
        if recognised is None:
            first = ["nothing", *text.strip().splitlines()][:2][-1][:80]
            discovery.problems.append(f"{libmpi}: of no known family (it says {first!r})")
            continue
        family, version = recognised
        patterns = launchers.of_libraries()
        files = [file for pattern in patterns for file in sorted((prefix / "bin").glob(pattern))]
        if owners is not None:
            files = [file for file in files if may_ask(file, owners, discovery)]
        launcher, broken = _launcher(files, family, environment)
        reason = in_brackets("; ".join(broken))
        label = f"{libmpi}: {family.title} {version}"
        if launcher is None:
            discovery.problems.append(f"{label}, but no launcher for it{reason}")
            continue
        if manager := launchers.of_job(launcher):
            discovery.notes += _manager_notes(label, family, manager, launcher.name, reason)
        discovery.libraries.append(
            Library(
                name=_unique(name or f"{family.name}-{version}", discovery.libraries),
                family=family.name,
                version=version,
                version_text=text,
                abi=family.abi,
                prefix=prefix,
                origin=origin,
                launcher=launcher,
                libmpi=libmpi,
                env={key: env[key] for key in sorted(env) if NEEDED_VARIABLES.match(key)},
                network_only=network,
                entry=name,
                lacks=_lacks(prefix),
            )
        )


def _manager_notes(
    label: str, family: Family, manager: str, program: str, reason: str
) -> Iterator[str]:
    """Notes that a workload manager starts a library, unless that is usual for its family."""
    if not launchers.in_job(manager):
        yield f"{label}{reason}: {program} starts it {launchers.job_clause(manager)}"
    elif reason or family.launcher != manager:
        yield f"{label} is started by {program}{reason or ' (it has no launcher of its own)'}"


def _lacks(prefix: Path) -> str:
    try:
        return (prefix / LACKS).read_text("utf-8", errors="replace").strip()
    except OSError:
        return ""


def _launcher(
    files: Iterable[Path], family: Family, env: dict[str, str]
) -> tuple[Path | None, list[str]]:
    """The first launcher of a prefix that is the family's; else a workload manager's (srun, ...).

    The second value lists why launchers of the prefix do not start. Only in a job does the workload
    manager's replace such broken ones. A library without a launcher has it outside of a job too:
    programs can be built for it there.
    """
    outputs: dict[Path, str] = {}
    broken: list[str] = []
    for file in files:
        program = file.resolve()
        if program not in outputs:
            outputs[program], problem = _version_output(file, env)
            broken += [f"{file} does not start: {problem}"] if problem else []
        if re.search(family.launcher_mark, outputs[program]) and os.access(file, os.X_OK):
            return file, []
    for manager, program in launchers.on_path(family.launcher):
        if not broken or family.launcher == manager or launchers.in_job(manager):
            return program, broken
    return None, broken


def _version_output(launcher: Path, env: dict[str, str]) -> tuple[str, str]:
    """The output of a launcher's --version, and the reason in a line if it fails."""
    try:
        done = subprocess.run(
            [str(launcher), "--version"],
            env={**os.environ, **env},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=LIMIT_SECONDS,
            check=False,
        )
    except OSError as error:
        return "", str(error.strerror)
    except subprocess.TimeoutExpired:
        return "", f"no answer within {LIMIT_SECONDS:.0f} s"
    problem = last_line(done.stdout, f"exit status {done.returncode}") if done.returncode else ""
    return done.stdout.decode(errors="replace"), problem


def _same_launcher(library: Library, path: Path) -> bool:
    """True if a launcher that the user named is the library's, maybe under another name."""
    return library.launcher.resolve() == path.resolve() or (
        library.launcher.parent.resolve() == path.parent.resolve()
        and len(shared_libraries(library.prefix)) == 1
    )


def _unique(name: str, others: list[Library]) -> str:
    taken = {library.name for library in others}
    number, candidate = 2, name
    while candidate in taken:
        candidate, number = f"{name}-{number}", number + 1
    return candidate
