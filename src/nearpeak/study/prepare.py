# SPDX-License-Identifier: Apache-2.0
"""From what a user asked for to a plan, in one direction: libraries, machine and paths, programs,
variants, what works, plan."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

import msgspec

from nearpeak.errors import UserError
from nearpeak.folders import cache
from nearpeak.launching.command_lines import Tools
from nearpeak.launching.describe import Variant
from nearpeak.launching.names import check_family, check_name
from nearpeak.launching.programs import Programs, build_programs
from nearpeak.launching.starting import places_of, starting_here
from nearpeak.libraries.library import Contender
from nearpeak.machine import allocation
from nearpeak.machine.discover import discover
from nearpeak.machine.doctor import examine
from nearpeak.machine.machine import Machine
from nearpeak.machine.perftest import has_perftest
from nearpeak.machine.places import Ranks
from nearpeak.study.contenders import choose_contenders, found_beside_mpi, looked_at
from nearpeak.study.gate import Gate
from nearpeak.study.options import Options
from nearpeak.study.paths import (
    check_hosts,
    check_ranks,
    gpu_path,
    hosts_of_job,
    paths_within,
    select_paths,
)
from nearpeak.study.plan import Plan
from nearpeak.study.planning import DEVIATION, VIRTUAL_DEVIATION, Known, Suits, budget_of, make_plan
from nearpeak.study.variants import Awarenesses, asked_for, has_gpu_price
from nearpeak.terms.awareness import Awareness
from nearpeak.terms.path import DataPath
from nearpeak.terms.sizes import format_seconds


def prepare(
    options: Options, tools: Tools, say: Callable[[str], None], *, retry: bool, dry_run: bool
) -> tuple[Machine, Plan]:
    """The machine and the plan; builds the measuring programs on the way.

    What contenders do with device buffers is tried where it is not known yet, with `retry` in any
    case, with `dry_run` not at all. `say`: told, a line each, what takes long or came out of it.

    UserError for everything that the user can mend.
    """
    check_named(options)
    if not (options.hosts or options.ranks or options.all_pairs):
        options = replace(options, hosts=hosts_of_job())
    hosts = check_hosts(options.hosts, options.remote_shell, call=not dry_run)
    options = replace(options, hosts=hosts)
    if options.hosts and dry_run:
        say(
            "--dry-run does not call the hosts: whether they can be reached is not known, and they "
            "are taken to be like this machine."
        )
    contenders = choose_contenders(options.libraries, say)
    machine = discover()
    if not options.libraries and machine.gpus:
        contenders += found_beside_mpi()
    # Before anything is built or tried: that is load of our own.
    machine = msgspec.structs.replace(machine, diagnoses=examine(machine=machine))
    ranks = Ranks(options.ranks, bool(options.oversubscribe))

    def select(machine: Machine) -> list[DataPath]:
        pairs = bool(options.all_pairs)
        paths = select_paths(machine, options.hosts, options.paths, pairs, ranks)
        return [
            path
            for path in paths
            if not path.gpu_support or path.named or any(map(has_gpu_price, contenders))
        ]

    contenders = looked_at(contenders, machine, say)
    paths = select(machine)
    tools.native_program()  # measures the ceilings, whichever the libraries
    programs = build_programs([contender.library for contender in contenders], tools)
    lent = machine
    if not dry_run:
        places = places_of(paths, options.hosts)
        contenders, lent = start(contenders, machine, places, options.remote_shell, tools, say)
        if lent is not machine:
            paths = select(lent)
    within = paths_within(lent)
    described = programs.described
    asked = asked_for(options, described, paths, within)

    options = within_job(options, say)

    def make(found: Sequence[Awareness], seconds: float) -> Plan:
        """The plan, with what trials found in so many seconds."""
        known = Awarenesses(found, described)
        plan = make_plan(
            options,
            contenders,
            known.with_staging(contenders, asked.variants),
            known.needed(asked.paths, asked.variants),
            described.benchmarks,
            Known(
                suits=suits(known, programs, asked.variants),
                perftest=has_perftest(),
                deviation=VIRTUAL_DEVIATION if machine.virtual else DEVIATION,
                trial_seconds=seconds,
            ),
        )
        plan.awareness = list(found)
        return plan

    where, folder = gpu_path(within), cache() / "trials"
    gate = Gate(described, machine, where, tools, folder, say, retry, not dry_run)
    plan = gate.settle(make)
    if not any(launch.role == "mpi" for launch in plan.launches):
        raise measures_nothing(contenders)
    return machine, plan


def check_named(options: Options) -> None:
    """UserError for benchmarks and families that no program has, before one is asked, and for ranks
    that are to share cores and are of no number."""
    check_ranks(Ranks(options.ranks, bool(options.oversubscribe)), options.paths)
    for benchmark in options.benchmarks:
        check_name(benchmark.partition(":")[0].strip())
    for family in options.operations:
        check_family(family)


def within_job(options: Options, say: Callable[[str], None]) -> Options:
    """The options with what the job that this is has left for the budget, where that is less: as
    the budget, where none was asked for. UserError where it has nothing.

    A study without a budget ends by the clock, as `StudyRun` does.
    """
    most, wanted = allocation.measuring_seconds(), budget_of(options)
    if most is None or wanted is None or wanted <= most:
        return options
    if options.budget_seconds is None:
        say(f"The budget is {format_seconds(most)}: job {allocation.job()} ends soon after")
        return replace(options, budget_seconds=most)
    say(
        f"Of the budget of {format_seconds(wanted)}, {format_seconds(most)} are used now: job "
        f"{allocation.job()} ends soon after. --resume in another job has the rest."
    )
    return replace(options, job_seconds=most)


def start(
    contenders: Sequence[Contender],
    machine: Machine,
    places: Collection[Sequence[str]],
    remote_shell: str | None,
    tools: Tools,
    say: Callable[[str], None],
) -> tuple[list[Contender], Machine]:
    """The contenders with what starts their ranks in these places, and the machine with the CPUs
    that all of them may use there; as `starting_here`, UserError too."""
    started = {contender.library.name: contender.library for contender in contenders}
    for name, library in started.items():
        started[name], machine = starting_here(library, machine, places, remote_shell, tools, say)
    return [
        msgspec.structs.replace(contender, library=started[contender.library.name])
        for contender in contenders
    ], machine


def measures_nothing(contenders: Sequence[Contender]) -> UserError:
    """That these were in vain."""
    names = ", ".join(contender.label for contender in contenders)
    return UserError(f"{names} cannot measure anything of what was asked for: choose others")


def suits(known: Awarenesses, programs: Programs, asked: Sequence[Variant]) -> Suits:
    """Who is measured in what, by what trials found and what programs have; `asked`: the variants
    that the user asked for."""
    return Suits(
        lambda contender, variant: (
            known.runs(contender, variant, asked) and programs.measure(contender, variant)
        ),
        known.takes_on,
        known.alone,
    )
