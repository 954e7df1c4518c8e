# SPDX-License-Identifier: Apache-2.0
"""Makes a plan from the options of a user, in one direction: libraries, machine and paths,
programs, variants, trials, plan."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

import msgspec

from nearpeak.errors import UserError
from nearpeak.folders import cache
from nearpeak.launching.command_lines import Tools
from nearpeak.launching.describe import Variant
from nearpeak.launching.names import check_family, check_name
from nearpeak.launching.paths import (
    check_hosts,
    check_ranks,
    gpu_path,
    hosts_of_job,
    paths_within,
    select_paths,
)
from nearpeak.launching.programs import Programs, build_programs
from nearpeak.launching.starting import places_of, starting_here
from nearpeak.libraries.library import Contender
from nearpeak.machine import allocation
from nearpeak.machine.discover import discover
from nearpeak.machine.doctor import examine
from nearpeak.machine.machine import Machine
from nearpeak.machine.perftest import has_perftest
from nearpeak.machine.places import Ranks
from nearpeak.planning.contenders import check_modules, choose_contenders, find_nccl
from nearpeak.planning.gate import Gate
from nearpeak.planning.make import DEVIATION, VIRTUAL_DEVIATION, PlanContext, make_plan
from nearpeak.planning.options import Options
from nearpeak.planning.plan import Plan
from nearpeak.planning.templates import Eligibility
from nearpeak.planning.usual import budget_of
from nearpeak.planning.variants import GpuSupport, asked_for, has_gpu_price
from nearpeak.terms.awareness import Awareness
from nearpeak.terms.path import DataPath
from nearpeak.terms.sizes import format_seconds


def prepare(
    options: Options, tools: Tools, say: Callable[[str], None], *, retry: bool, dry_run: bool
) -> tuple[Machine, Plan]:
    """Returns the machine and the plan; builds the measuring programs on the way.

    Contenders are tried with device buffers if the outcome is not known yet, with `retry` in any
    case, with `dry_run` not at all. `say`: prints a line for each slow step or its result.

    UserError for everything that the user can fix.
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
        contenders += find_nccl()
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

    contenders = check_modules(contenders, machine, say)
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
    selection = asked_for(options, described, paths, within)

    options = within_job(options, say)

    def make(outcomes: Sequence[Awareness], seconds: float) -> Plan:
        """Returns the plan, with the outcomes of trials and the seconds that they took."""
        support = GpuSupport(outcomes, described)
        plan = make_plan(
            options,
            contenders,
            support.with_staging(contenders, selection.variants),
            support.needed(selection.paths, selection.variants),
            described.benchmarks,
            PlanContext(
                eligibility=eligibility(support, programs, selection.variants),
                perftest=has_perftest(),
                deviation=VIRTUAL_DEVIATION if machine.virtual else DEVIATION,
                trial_seconds=seconds,
            ),
        )
        plan.awareness = list(outcomes)
        return plan

    trial_path, folder = gpu_path(within), cache() / "trials"
    gate = Gate(described, machine, trial_path, tools, folder, say, retry, not dry_run)
    plan = gate.settle(make)
    if not any(launch.role == "mpi" for launch in plan.launches):
        raise measures_nothing(contenders)
    return machine, plan


def check_named(options: Options) -> None:
    """UserError for benchmarks and families that no program has, before one is asked, and for ranks
    that are to share cores without a number of ranks."""
    check_ranks(Ranks(options.ranks, bool(options.oversubscribe)), options.paths)
    for benchmark in options.benchmarks:
        check_name(benchmark.partition(":")[0].strip())
    for family in options.operations:
        check_family(family)


def within_job(options: Options, say: Callable[[str], None]) -> Options:
    """Returns the options with the time that this job has left, if the budget exceeds it: as the
    budget, if none was asked for. UserError if no time is left.

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
    """Returns the contenders with the launchers of their ranks in these places, and the machine
    with the CPUs that all of them may use there; UserError as `starting_here`."""
    started = {contender.library.name: contender.library for contender in contenders}
    for name, library in started.items():
        started[name], machine = starting_here(library, machine, places, remote_shell, tools, say)
    return [
        msgspec.structs.replace(contender, library=started[contender.library.name])
        for contender in contenders
    ], machine


def measures_nothing(contenders: Sequence[Contender]) -> UserError:
    """Returns the error for contenders that can measure nothing."""
    names = ", ".join(contender.label for contender in contenders)
    return UserError(f"{names} cannot measure anything of what was asked for: choose others")


def eligibility(
    support: GpuSupport, programs: Programs, requested: Sequence[Variant]
) -> Eligibility:
    """Chooses the contenders for each variant, by the outcomes of trials and the benchmarks of
    programs. `requested`: the variants that the user asked for."""
    return Eligibility(
        lambda contender, variant: (
            support.runs(contender, variant, requested) and programs.measure(contender, variant)
        ),
        support.takes_on,
        support.alone,
    )
