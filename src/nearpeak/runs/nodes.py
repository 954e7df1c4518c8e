# SPDX-License-Identifier: Apache-2.0
"""A run of `nearpeak nodes`: every launch of its plan is measured, or those that are left."""

from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

import nearpeak
from nearpeak.clock import now
from nearpeak.errors import UserError, parsed
from nearpeak.launching import paths, programs
from nearpeak.launching.awareness import why_needs_gpu
from nearpeak.launching.batch import JobRequest
from nearpeak.launching.starting import starting_here
from nearpeak.libraries import discover as libraries
from nearpeak.libraries import settings
from nearpeak.libraries.families import is_native
from nearpeak.libraries.launch import check_launcher
from nearpeak.libraries.library import Contender, Library, Settings
from nearpeak.libraries.over_ucx import sends_over_ucx
from nearpeak.machine import discover
from nearpeak.machine.allocation import job, measuring_seconds
from nearpeak.machine.machine import Machine
from nearpeak.nodes import plan, rails, required, topology
from nearpeak.nodes import present as presenter
from nearpeak.nodes.build import build, to_json
from nearpeak.nodes.found import Found
from nearpeak.nodes.journal import FORM, NAME, SCHEMA, Begin, NodesJournal, read
from nearpeak.nodes.plan import Chosen, Rail
from nearpeak.nodes.run import Run, check_library, path_of
from nearpeak.nodes.wording import faults
from nearpeak.planning.contenders import why_missing
from nearpeak.planning.options import library_choice
from nearpeak.runs import lifecycle
from nearpeak.runs.job import write_script
from nearpeak.runs.messages import say, say_lacking, tell
from nearpeak.study import begun
from nearpeak.terms.buffers import HOST, parse_buffers
from nearpeak.terms.path import DataPath
from nearpeak.terms.sizes import format_seconds, split_list
from nearpeak.terms.trials import TrialCase

LONGER = 2.0  # times the estimate, that a job is asked for


class _Prepared(NamedTuple):
    """The library on all nodes, ready to be launched."""

    library: Library
    settings: Settings
    machine: Machine
    path: DataPath


def of_gpus(given: Mapping[str, str | None], mpi: str, *, is_node: bool) -> dict[str, Any]:
    """Returns the options of a plan that --buffers, --gpus and --adapters give. A library that does
    not send by UCX chooses its adapters, unless they are named. `is_node`: this host is one of the
    nodes. UserError."""
    buffers = parsed("--buffers", _buffers, given["--buffers"] or HOST)
    if buffers == HOST:
        if lone := next((name for name in ("--gpus", "--adapters") if given[name]), None):
            raise UserError(f"{lone} is of GPUs: give --buffers D,D too, or leave it out")
        return {}
    gpus, adapters = given["--gpus"], given["--adapters"]
    chosen = rails.choose(
        discover.discover(),
        parsed("--gpus", rails.parse_numbers, gpus) if gpus else [],
        parsed("--adapters", split_list, adapters) if adapters else [],
        is_node=is_node,
    )
    if not adapters and any(rail.adapter for rail in chosen) and not _sends_over_ucx(mpi):
        chosen = [Rail(gpu=rail.gpu) for rail in chosen]
    return {"buffers": buffers, "rails": chosen}


def _sends_over_ucx(mpi: str) -> bool:
    """True if the library is here and sends by UCX."""
    if _lacking(mpi):
        return False
    spec, wanted = settings.split(mpi)
    library = libraries.resolve(spec)
    return sends_over_ucx(library, settings.find(library, wanted or "default"))


def _buffers(text: str) -> str:
    """Returns one of H,H, D,D and H,D, which stands for D,H, too."""
    buffers = ",".join(sorted(parse_buffers(text).split(","), reverse=True))
    if buffers not in (HOST, "D,D", "H,D"):
        raise UserError(f"{text!r} is not measured between nodes: give H,H, D,D or H,D")
    return buffers


def write_job(file: Path, chosen: Chosen, folder: Path, command: Sequence[str]) -> None:
    """Prints the plan, and writes the script of a job that measures it. `command`: this one."""
    lacking = _lacking(chosen.mpi)
    seconds = plan.cost(chosen, plan.planned(chosen)).seconds
    hosts = [node for node in chosen.nodes if node]
    gpus = 1 + max((int(rail.gpu) for rail in chosen.rails), default=-1)
    request = JobRequest(LONGER * seconds, len(chosen.nodes), hosts, folder, NAME, gpus)
    _show(chosen)
    write_script(file, request, command, lacking, "--nodes")


def dry_run(chosen: Chosen) -> int:
    """Prints the plan of a new run, and why its library is not here; returns the exit status."""
    for line in _lacking(chosen.mpi):
        say(f"nearpeak: {line}")
    _show(chosen)
    return 0


def start(folder: Path, chosen: Chosen, *, verbose: bool) -> int:
    """Measures the plan of `chosen`, and prints the results, with `verbose` all of them; returns
    the exit status. UserError, CannotWriteError."""
    FORM.check_new(folder)
    _show(chosen)
    nodes = paths.check_hosts(chosen.nodes, chosen.remote_shell)
    levels = topology.reordered(chosen.levels, chosen.nodes, nodes)
    chosen = msgspec.structs.replace(chosen, nodes=nodes, levels=levels)
    prepared = _prepare(chosen)
    begin = Begin(
        schema=SCHEMA,
        nearpeak=nearpeak.__version__,
        started=now(),
        host=prepared.machine.hostname,
        library=prepared.library.name,
        settings=prepared.settings.name,
        version=prepared.library.version,
        chosen=chosen,
    )
    with closing(NodesJournal(folder, begin)) as journal:
        begun.remember(begin)
        return _measure(journal, prepared, verbose=verbose)


def resume(folder: Path, *, accept: bool, dry_run: bool, verbose: bool) -> int:
    """Measures the launches that are left of the run in the folder, as `start` does. `accept`: as
    for `check_begun`."""
    begin = read(folder).begin
    chosen = begin.chosen
    _show(chosen)
    if dry_run:
        return 0
    lifecycle.check_begun(
        folder,
        FORM.command,
        begin,
        lambda: begun.named_in([chosen.mpi], chosen.remote_shell, chosen.nodes),
        accept=accept,
    )
    paths.check_same_hosts(chosen.nodes, chosen.remote_shell)
    prepared = _prepare(chosen)
    library = prepared.library
    if begin.version != library.version:
        raise UserError(
            f"{folder} was begun with {library.name} {begin.version}, which is {library.version}"
            " now: start anew with -o"
        )
    with closing(NodesJournal(folder)) as journal:
        return _measure(journal, prepared, verbose=verbose)


def _show(chosen: Chosen) -> None:
    for line in plan.summary(chosen):
        tell(line)


def _lacking(mpi: str) -> list[str]:
    """Reasons why the library is not on this machine; UserError for an unknown name, or one of no
    MPI library."""
    lacking = [*why_missing([library_choice(mpi)])]
    if not lacking:
        library = libraries.resolve(settings.split(mpi)[0])
        check_library(library, is_native(library))
    return lacking


def _prepare(chosen: Chosen) -> _Prepared:
    spec, wanted = settings.split(chosen.mpi)
    library = libraries.resolve(spec)
    check_library(library, is_native(library))
    check_launcher(library)
    say_lacking(library)
    named = settings.find(library, wanted or "default", say)
    tools = programs.TOOLS
    tools.mpi_program(library)  # is compiled, if it is not yet
    library, machine = starting_here(
        library, discover.discover(), [chosen.nodes], chosen.remote_shell, tools, say
    )
    prepared = _Prepared(library, named, machine, path_of(machine, chosen))
    if chosen.rails:
        _check_gpu_support(prepared)
    return prepared


def _check_gpu_support(prepared: _Prepared) -> None:
    """UserError if the library does not take buffers in GPU memory within this node."""
    library, machine = prepared.library, prepared.machine
    within = paths.gpu_path(paths.paths_within(machine))
    if within is None:
        return
    contender = Contender(library=library, settings=prepared.settings)
    described = programs.describe_library(library, programs.TOOLS).benchmarks
    usual = next(it.name for it in described if it.default and it.ranks.fits(len(within.ends)))
    case = TrialCase("D,D", usual)
    if reason := why_needs_gpu(contender, case, within, machine, programs.TOOLS, tell):
        advice = "choose another with --mpi"
        if not library.layer:
            advice += f", or measure {library.name}+layer"
        problem = f"{contender.label} does not take buffers in GPU memory ({reason})"
        raise UserError(f"{problem}: {advice}")


def _measure(journal: NodesJournal, prepared: _Prepared, *, verbose: bool) -> int:
    """Measures what the journal lacks. The results are written also after an interrupt."""
    folder, seconds = journal.folder, measuring_seconds()
    library, named, _, path = prepared
    run = Run(journal, library, named, path, programs.TOOLS, tell, seconds)
    if seconds is not None and run.expected() > seconds:
        say(
            f"{format_seconds(seconds)} are measured, not {format_seconds(run.expected())}: "
            f"job {job()} ends soon after."
        )
    ended_by = run.run()
    results = build(read(folder))
    present(results, folder, verbose=verbose)
    resume_line = FORM.resume_command(folder)
    if run.cut_short:
        tell(f"Complete it in another job: {resume_line}")
    if ended_by is not None:
        return lifecycle.cut_short(ended_by, resume_line)
    return conclude(results)


def judged(folder: Path, require: Sequence[str]) -> Found:
    """The results of the run in a folder. `require`: replaces its requirements; UserError."""
    recorded = read(folder)
    required.check(require, alone=plan.has_alone(recorded.begin.chosen))
    return build(recorded, require)


def present(results: Found, folder: Path | None, *, verbose: bool) -> Path | None:
    """Writes the results and their page into a folder, if there is one, and prints them, with
    `verbose` all of them. Returns the page's path."""
    return lifecycle.present(
        presenter.present(results), folder, "nodes", to_json(results), verbose=verbose
    )


def conclude(results: Found) -> int:
    """Returns the exit status: 1 if something is slow, wrong or lacking, or a requirement is
    missed."""
    return lifecycle.conclude(results.bad, faults(results))
