# SPDX-License-Identifier: Apache-2.0
"""Remembers which runs this user began: --resume runs the programs that a plan names, so that the
folder of a run is a program.

A folder may have been handed over, with a plan that names somebody else's launcher. Its own records
prove nothing: the author of the plan wrote these too. So the user's state folder has a digest of
each plan of this user, or of the first record of a run. The digest covers all of it, as hosts,
devices and options reach command lines too. Only --extend changes a plan later: the larger one has
a digest as well.
"""

import contextlib
import hashlib
import re
from collections.abc import Iterable, Iterator

import msgspec

from nearpeak import folders
from nearpeak.errors import UserError
from nearpeak.files import make_anew, make_private
from nearpeak.launching import programs
from nearpeak.libraries import discover, launchers, profiles, settings
from nearpeak.libraries.families import is_native
from nearpeak.libraries.library import Contender
from nearpeak.owners import risks
from nearpeak.planning.plan import Plan
from nearpeak.terms.axes import USUAL_STATE
from nearpeak.terms.benchmarks import Benchmark
from nearpeak.terms.command_words import NOTHING, is_host

FOLDER = "begun"  # of the state folder: an empty file for each digest
SHELL = "ssh"  # the one remote shell that is no choice of a plan's author
# Libraries, with or without another name and settings, that this machine finds by their names.
_PLAIN = re.compile(r"(?:[A-Za-z0-9][\w.+-]*=)?[A-Za-z0-9][\w.+-]*(?:@[\w.+-]+)?", re.ASCII)
_DEVICE = re.compile(r"[\w.:,/][\w.:,/-]*", re.ASCII)  # a uuid, an index, an address


def remember(begun: object) -> None:
    """Remembers that this user runs the programs in a record; if that cannot be stored, --resume
    asks."""
    with contextlib.suppress(OSError):
        make_private(folders.state() / FOLDER)
        make_anew(folders.state() / FOLDER / _digest(begun))


def is_known(begun: object) -> bool:
    """True if this user runs the programs in a record, as far as is remembered."""
    file = folders.state() / FOLDER / _digest(begun)
    return file.is_file() and all(risk.by == "group" for risk in risks(file))


def foreign(plan: Plan) -> list[str]:
    """Returns the names in a plan that this user did not choose. Empty if this user began it, or if
    only programs and options of this machine reach a command line."""
    if is_known(plan):
        return []
    hosts = [*plan.hosts, *(end.host or "" for path in plan.paths for end in path.ends)]
    strange = [*_strange_shells(plan.remote_shell), *_strange_hosts(hosts), *_strange_devices(plan)]
    options = _strange_options(plan) if all(map(_is_of_here, plan.contenders)) else None
    return sorted({*strange, *(_programs(plan) if options is None else options)})


def named_in(
    libraries: Iterable[str], remote_shell: str | None = None, hosts: Iterable[str] = ()
) -> list[str]:
    """Returns the names in the first record of a run that this machine does not define: a file
    holds whatever its author put there."""
    strange = [name for name in libraries if not _PLAIN.fullmatch(name) or _is_file(name)]
    return [*strange, *_strange_shells(remote_shell), *_strange_hosts(hosts)]


def _is_file(library: str) -> bool:
    return profiles.is_profile(library)


def _strange_shells(remote_shell: str | None) -> list[str]:
    return [] if remote_shell in (None, SHELL) else [f"the remote shell {remote_shell!r}"]


def _strange_hosts(hosts: Iterable[str]) -> list[str]:
    """Returns the foreign hosts. `hosts`: with empty ones, which are this host."""
    return [f"the host {host!r}" for host in dict.fromkeys(hosts) if host and not is_host(host)]


def _strange_devices(plan: Plan) -> Iterator[str]:
    """Yields GPUs and adapters with names that no driver uses."""
    ends = [end for path in plan.paths for end in path.ends]
    named = [name for end in ends for name in (end.gpu, end.device)]
    named += [path.nic for path in plan.paths] + [launch.adapter for launch in plan.launches]
    for name in dict.fromkeys(named):
        if name not in (None, NOTHING) and not _DEVICE.fullmatch(str(name)):
            yield f"the device {name!r}"


def _strange_options(plan: Plan) -> list[str] | None:
    """Returns benchmarks and options that the programs of this machine do not have; None without
    programs."""
    libraries = [contender.library for contender in plan.contenders]
    try:
        described = programs.build_programs(libraries, programs.TOOLS).described
    except UserError:
        return None
    offered = {benchmark.name: benchmark for benchmark in described.benchmarks}
    named = {benchmark.name for benchmark in plan.benchmarks}
    named |= {variant.benchmark for variant in plan.variants}
    strange = [f"the benchmark {name!r}" for name in named - offered.keys()]
    allowed = {*USUAL_STATE}
    allowed.update(_options(offered.values()))
    for variant in plan.variants:
        mine = (
            set(_options([offered[variant.benchmark]])) if variant.benchmark in offered else allowed
        )
        strange += [_option(axis) for axis in variant.axes.items() if axis not in mine]
    groups = [group for launch in plan.launches for group in launch.groups]
    strange += [_option(axis) for group in groups for axis in group.axes.items() - allowed]
    return strange


def _options(benchmarks: Iterable[Benchmark]) -> Iterator[tuple[str, str]]:
    for benchmark in benchmarks:
        for axis in benchmark.axes:
            yield from ((axis.name, value) for value in axis.values)


def _option(axis: tuple[str, str]) -> str:
    return f"the option --{axis[0]} {axis[1]}"


def _programs(plan: Plan) -> Iterator[str]:
    for contender in plan.contenders:
        library = contender.library
        yield str(library.libmpi if is_native(library) else library.launcher)


def _digest(begun: object) -> str:
    """Returns the digest of a record as a file holds it."""
    written = msgspec.json.encode(begun, enc_hook=str)
    read = msgspec.json.decode(written, type=type(begun), dec_hook=lambda kind, text: kind(text))
    return hashlib.sha256(msgspec.json.encode(read, order="sorted", enc_hook=str)).hexdigest()


def _is_of_here(contender: Contender) -> bool:
    """True if this machine has the same library and settings under these names. In a job, one of
    its launchers may replace the library's."""
    library = contender.library
    if named_in([library.name]) or "=" in library.name or _is_file(contender.settings.name):
        return False  # a file holds whatever its author put there
    try:
        local = discover.resolve(library.name)
        chosen = settings.find(local, contender.settings.name)
    except UserError:
        return False
    if library.launcher in dict(launchers.on_path("")).values():
        local = msgspec.structs.replace(local, launcher=library.launcher, pmi=library.pmi)
    return (local, chosen) == (library, contender.settings)
