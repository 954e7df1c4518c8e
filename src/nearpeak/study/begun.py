# SPDX-License-Identifier: Apache-2.0
"""Keeps which runs this user began: --resume runs the programs that a plan names, so that the
folder of a run is a program.

A folder may have been handed over, with a plan that names somebody else's launcher. Its own records
cannot tell: who wrote the plan wrote these too. So the user's state folder has a digest of each
plan of this user's, or of the first record of a run: of the whole, as hosts, devices and options
reach command lines too. Of what goes on, --extend alone changes a plan: the larger one has a digest
as well.
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
from nearpeak.study.plan import Plan
from nearpeak.terms.axes import USUAL_STATE
from nearpeak.terms.benchmarks import Benchmark
from nearpeak.terms.command_words import NOTHING, is_host

FOLDER = "begun"  # of the state folder: an empty file for each digest
SHELL = "ssh"  # the one remote shell that is no choice of a plan's author
# Libraries, with or without another name and settings, that this machine finds by their names.
_PLAIN = re.compile(r"(?:[A-Za-z0-9][\w.+-]*=)?[A-Za-z0-9][\w.+-]*(?:@[\w.+-]+)?", re.ASCII)
_DEVICE = re.compile(r"[\w.:,/][\w.:,/-]*", re.ASCII)  # a uuid, an index, an address


def remember(begun: object) -> None:
    """Keeps that this user runs what a record names; where that cannot be kept, --resume asks."""
    with contextlib.suppress(OSError):
        make_private(folders.state() / FOLDER)
        make_anew(folders.state() / FOLDER / _digest(begun))


def is_known(begun: object) -> bool:
    """Tell whether this user runs what a record names, as far as is kept."""
    file = folders.state() / FOLDER / _digest(begun)
    return file.is_file() and all(risk.by == "group" for risk in risks(file))


def foreign(plan: Plan) -> list[str]:
    """Return what a plan names that this user did not choose; none where this user began it, or
    where nothing but what this machine has reaches a command line."""
    if is_known(plan):
        return []
    hosts = [*plan.hosts, *(end.host or "" for path in plan.paths for end in path.ends)]
    strange = [*_strange_shells(plan.remote_shell), *_strange_hosts(hosts), *_strange_devices(plan)]
    options = _strange_options(plan) if all(map(_is_of_here, plan.contenders)) else None
    return sorted({*strange, *(_programs(plan) if options is None else options)})


def named_in(
    libraries: Iterable[str], remote_shell: str | None = None, hosts: Iterable[str] = ()
) -> list[str]:
    """Return what the first record of a run names that nothing on this machine says: what lies
    somewhere is whatever its author put there."""
    strange = [name for name in libraries if not _PLAIN.fullmatch(name) or _is_file(name)]
    return [*strange, *_strange_shells(remote_shell), *_strange_hosts(hosts)]


def _is_file(library: str) -> bool:
    return profiles.is_profile(library)


def _strange_shells(remote_shell: str | None) -> list[str]:
    return [] if remote_shell in (None, SHELL) else [f"the remote shell {remote_shell!r}"]


def _strange_hosts(hosts: Iterable[str]) -> list[str]:
    """`hosts`: with empty ones, which are this host."""
    return [f"the host {host!r}" for host in dict.fromkeys(hosts) if host and not is_host(host)]


def _strange_devices(plan: Plan) -> Iterator[str]:
    """Yield GPUs and adapters that no driver calls so."""
    ends = [end for path in plan.paths for end in path.ends]
    named = [name for end in ends for name in (end.gpu, end.device)]
    named += [path.nic for path in plan.paths] + [launch.adapter for launch in plan.launches]
    for name in dict.fromkeys(named):
        if name not in (None, NOTHING) and not _DEVICE.fullmatch(str(name)):
            yield f"the device {name!r}"


def _strange_options(plan: Plan) -> list[str] | None:
    """Return benchmarks and options that the programs of this machine do not have; None where
    these cannot be had."""
    libraries = [contender.library for contender in plan.contenders]
    try:
        described = programs.build_programs(libraries, programs.TOOLS).described
    except UserError:
        return None
    there = {benchmark.name: benchmark for benchmark in described.benchmarks}
    named = {*(each.name for each in plan.benchmarks), *(each.benchmark for each in plan.variants)}
    strange = [f"the benchmark {name!r}" for name in named - there.keys()]
    known = {*USUAL_STATE}
    known.update(_options(there.values()))
    for variant in plan.variants:
        mine = set(_options([there[variant.benchmark]])) if variant.benchmark in there else known
        strange += [_option(axis) for axis in variant.axes.items() if axis not in mine]
    groups = [group for launch in plan.launches for group in launch.groups]
    strange += [_option(axis) for group in groups for axis in group.axes.items() - known]
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
    """Return the digest of a record as it is once it was written and read."""
    written = msgspec.json.encode(begun, enc_hook=str)
    read = msgspec.json.decode(written, type=type(begun), dec_hook=lambda kind, text: kind(text))
    return hashlib.sha256(msgspec.json.encode(read, order="sorted", enc_hook=str)).hexdigest()


def _is_of_here(contender: Contender) -> bool:
    """Tell whether this machine has the same under the same names. In a job, one of its launchers
    may stand in the place of the library's."""
    there = contender.library
    if named_in([there.name]) or "=" in there.name or _is_file(contender.settings.name):
        return False  # what lies somewhere is whatever the plan says
    try:
        here = discover.resolve(there.name)
        chosen = settings.find(here, contender.settings.name)
    except UserError:
        return False
    if there.launcher in dict(launchers.on_path("")).values():
        here = msgspec.structs.replace(here, launcher=there.launcher, pmi=there.pmi)
    return (here, chosen) == (there, contender.settings)
