# SPDX-License-Identifier: Apache-2.0
"""Makes a plan from the options of a user, in one direction: libraries, machine and paths,
programs, variants, trials, plan."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import NamedTuple

import msgspec

from nearpeak.errors import UserError
from nearpeak.folders import cache
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
from nearpeak.libraries.library import Contender, Library
from nearpeak.machine import allocation
from nearpeak.machine.discover import discover
from nearpeak.machine.doctor import examine
from nearpeak.machine.machine import Machine
from nearpeak.machine.perftest import has_perftest
from nearpeak.machine.places import Ranks
from nearpeak.planning.contenders import check_modules, choose_contenders, find_nccl, with_libraries
from nearpeak.planning.gate import Gate, Preparation
from nearpeak.planning.make import DEVIATION, VIRTUAL_DEVIATION, PlanContext, make_plan
from nearpeak.planning.options import Options
from nearpeak.planning.plan import Plan
from nearpeak.planning.templates import Eligibility
from nearpeak.planning.usual import budget_of
from nearpeak.planning.variants import GpuSupport, asked_for, has_gpu_price
from nearpeak.terms.awareness import Awareness
from nearpeak.terms.path import DataPath
from nearpeak.terms.sizes import format_seconds


class Ready(NamedTuple):
    """Contenders that can be started."""

    contenders: list[Contender]
    programs: Programs
    machine: Machine  # with only the CPUs that all of them may use


def prepare(options: Options, preparation: Preparation) -> tuple[Machine, Plan]:
    """Returns the machine and the plan; builds the measuring programs on the way, and tries
    contenders with device buffers.

    UserError for everything that the user can fix.
    """
    check_named(options)
    options = replace(options, hosts=_hosts(options, preparation))
    contenders = choose_contenders(options.libraries, preparation.say)
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

    paths = select(machine)
    preparation.tools.native_program()  # measures the ceilings, whichever the libraries
    contenders, programs, lent = make_ready(
        contenders, machine, places_of(paths, options.hosts), options.remote_shell, preparation
    )
    if lent is not machine:
        paths = select(lent)
    within = paths_within(lent)
    selection = asked_for(options, programs.described, paths, within)
    options = within_job(options, preparation.say)

    def make(outcomes: Sequence[Awareness], seconds: float) -> Plan:
        """Returns the plan, with the outcomes of trials and the seconds that they took."""
        support = GpuSupport(outcomes, programs.described)
        plan = make_plan(
            options,
            contenders,
            support.with_staging(contenders, selection.variants),
            support.needed(selection.paths, selection.variants),
            programs.described.benchmarks,
            PlanContext(
                eligibility=eligibility(support, programs, selection.variants),
                perftest=has_perftest(),
                deviation=VIRTUAL_DEVIATION if machine.virtual else DEVIATION,
                trial_seconds=seconds,
            ),
        )
        plan.awareness = list(outcomes)
        return plan

    plan = gate_of(programs, machine, within, preparation).settle(make)
    if not any(launch.role == "mpi" for launch in plan.launches):
        raise measures_nothing(contenders)
    return machine, plan


def _hosts(options: Options, preparation: Preparation) -> list[str]:
    """Returns the hosts of a study: those asked for, else those of the job unless paths within a
    host are asked for. UserError for some that cannot be reached."""
    within = options.ranks or options.all_pairs
    hosts = options.hosts or ([] if within else hosts_of_job())
    hosts = check_hosts(hosts, options.remote_shell, call=not preparation.dry_run)
    if hosts and preparation.dry_run:
        preparation.say(
            "--dry-run does not call the hosts: whether they can be reached is not known, and they "
            "are taken to be like this machine."
        )
    return hosts


def make_ready(
    contenders: Sequence[Contender],
    machine: Machine,
    places: Collection[Sequence[str]],
    remote_shell: str | None,
    preparation: Preparation,
) -> Ready:
    """Checks contenders, builds their programs, and finds what starts their ranks in these places;
    UserError where one of these fails."""
    contenders = check_modules(contenders, machine, preparation.say)
    programs = build_programs([contender.library for contender in contenders], preparation.tools)
    if not preparation.dry_run:
        contenders, machine = start(contenders, machine, places, remote_shell, preparation)
    return Ready(contenders, programs, machine)


def gate_of(
    programs: Programs, machine: Machine, within: Sequence[DataPath], preparation: Preparation
) -> Gate:
    """Returns the gate for operations of these programs, tried on a path `within` this host."""
    return Gate(programs.described, machine, gpu_path(within), preparation, cache() / "trials")


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
    preparation: Preparation,
) -> tuple[list[Contender], Machine]:
    """Returns the contenders with the launchers of their ranks in these places, and the machine
    with the CPUs that all of them may use there; UserError as `starting_here`."""

    def start_one(library: Library) -> Library:
        nonlocal machine
        started, machine = starting_here(
            library, machine, places, remote_shell, preparation.tools, preparation.say
        )
        return started

    return with_libraries(contenders, start_one), machine


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
