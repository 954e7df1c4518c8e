# SPDX-License-Identifier: Apache-2.0
"""Extends a plan with libraries that a user adds to a study, in the stages of a new plan:
libraries, programs, trials of device buffers, launches."""

from collections.abc import Callable, Iterator, Sequence

import msgspec

from nearpeak.errors import UserError
from nearpeak.launching.describe import Variant
from nearpeak.launching.paths import paths_within
from nearpeak.launching.programs import Programs
from nearpeak.launching.starting import places_of
from nearpeak.libraries.library import Contender
from nearpeak.machine.machine import Machine
from nearpeak.planning.contenders import choose_contenders
from nearpeak.planning.gate import Preparation
from nearpeak.planning.make import added
from nearpeak.planning.options import LibraryChoice
from nearpeak.planning.plan import Addition, Plan
from nearpeak.planning.prepare import eligibility, gate_of, make_ready, measures_nothing
from nearpeak.planning.variants import GpuSupport
from nearpeak.terms.awareness import Awareness
from nearpeak.terms.axes import DIRECT, STAGING, staging
from nearpeak.terms.benchmarks import by_name


def choose_new(
    plan: Plan, choices: Sequence[LibraryChoice], say: Callable[[str], None]
) -> list[Contender]:
    """Returns the contenders asked for; UserError for one that the plan already has, or whose
    library has the name of another one there."""
    contenders = choose_contenders(choices, say)
    labels = {contender.label for contender in plan.contenders}
    libraries = {contender.library.name: contender.library for contender in plan.contenders}
    for contender in contenders:
        if contender.label in labels:
            raise UserError(
                f"{contender.label} is in the study already: name another library, or other "
                "settings of it; --resume --launches adds launches of all"
            )
        labels.add(contender.label)
        existing = libraries.setdefault(contender.library.name, contender.library)
        if existing.libmpi != contender.library.libmpi:
            raise UserError(
                f"{contender.library.name} of the study is {existing.libmpi}, and not "
                f"{contender.library.libmpi}: begin another study"
            )
    return contenders


def prepare_addition(
    plan: Plan,
    contenders: Sequence[Contender],
    since: int,
    machine: Machine,
    preparation: Preparation,
) -> Addition:
    """Returns the addition to the plan for these contenders from a block on, as `prepare` makes a
    plan.

    They are measured in the variants and on the paths of the plan, and with staging too where they
    refuse device buffers.

    UserError if they can measure nothing of it.
    """
    contenders, made, lent = make_ready(
        contenders, machine, places_of(plan.paths, plan.hosts), plan.remote_shell, preparation
    )
    old = by_name(plan.benchmarks)
    benchmarks = list((old | by_name(made.described.benchmarks) | old).values())
    described = msgspec.structs.replace(made.described, benchmarks=benchmarks)
    programs = Programs(described, made.own)

    def make(outcomes: Sequence[Awareness]) -> Addition:
        awareness = GpuSupport([*plan.awareness, *outcomes], described)
        requested = list(_asked_for(plan, awareness))
        variants = awareness.with_staging(contenders, plan.variants)[len(plan.variants) :]
        omitted = {cut.name for cut in plan.left_out if cut.kind == "staging"}
        kept = [variant for variant in variants if staging(variant.axes) not in omitted]
        adds = added(plan, contenders, kept, eligibility(awareness, programs, requested), since)
        return msgspec.structs.replace(adds, awareness=list(outcomes))

    def new_part(outcomes: Sequence[Awareness], _seconds: float) -> Plan:
        """Returns only the new part, as the rest was tried before."""
        adds = make(outcomes)
        return msgspec.structs.replace(plan.grown(adds), launches=adds.launches)

    gate = gate_of(programs, machine, paths_within(lent), preparation)
    gate.settle(new_part)
    adds = make(gate.found)
    if not adds.launches:
        raise measures_nothing(contenders)
    return adds


def _asked_for(plan: Plan, support: GpuSupport) -> Iterator[Variant]:
    """Yields the variants of a plan without those that replace what a contender refuses."""
    measured = {
        (launch.contender, number) for launch in plan.launches for number in launch.variants
    }
    direct = [_direct(variant) for variant in plan.variants if staging(variant.axes) is None]
    for number, variant in enumerate(plan.variants):
        if (
            staging(variant.axes) is None
            or _direct(variant) not in direct
            or any(
                (index, number) in measured and support.takes(contender, variant)
                for index, contender in enumerate(plan.contenders)
            )
        ):
            yield variant


def _direct(variant: Variant) -> Variant:
    """Returns the variant without staging."""
    return msgspec.structs.replace(variant, axes={**variant.axes, STAGING: DIRECT})
