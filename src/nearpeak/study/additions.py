# SPDX-License-Identifier: Apache-2.0
"""From libraries that a user adds to a study to what its plan grows by, in the stages of a new
plan: libraries, programs, what works with device buffers, launches."""

from collections.abc import Callable, Iterator, Sequence

import msgspec

from nearpeak.errors import UserError
from nearpeak.folders import cache
from nearpeak.launching.command_lines import Tools
from nearpeak.launching.describe import Variant
from nearpeak.launching.programs import Programs, build_programs
from nearpeak.launching.starting import places_of
from nearpeak.libraries.library import Contender
from nearpeak.machine.machine import Machine
from nearpeak.study.contenders import choose_contenders, looked_at
from nearpeak.study.gate import Gate
from nearpeak.study.options import LibraryChoice
from nearpeak.study.paths import gpu_path, paths_within
from nearpeak.study.plan import Addition, Plan
from nearpeak.study.planning import added
from nearpeak.study.prepare import measures_nothing, start, suits
from nearpeak.study.variants import Awarenesses
from nearpeak.terms.awareness import Awareness
from nearpeak.terms.axes import DIRECT, STAGING, staging


def choose_new(
    plan: Plan, choices: Sequence[LibraryChoice], say: Callable[[str], None]
) -> list[Contender]:
    """The contenders asked for; UserError for one that the plan has, or whose library has the name
    of another one there."""
    contenders = choose_contenders(choices, say)
    known = {contender.label for contender in plan.contenders}
    libraries = {contender.library.name: contender.library for contender in plan.contenders}
    for contender in contenders:
        if contender.label in known:
            raise UserError(
                f"{contender.label} is in the study already: name another library, or other "
                "settings of it; --resume --launches adds launches of all"
            )
        known.add(contender.label)
        there = libraries.setdefault(contender.library.name, contender.library)
        if there.libmpi != contender.library.libmpi:
            raise UserError(
                f"{contender.library.name} of the study is {there.libmpi}, and not "
                f"{contender.library.libmpi}: begin another study"
            )
    return contenders


def prepare_addition(
    plan: Plan,
    contenders: Sequence[Contender],
    since: int,
    machine: Machine,
    tools: Tools,
    say: Callable[[str], None],
    *,
    retry: bool,
    dry_run: bool,
) -> Addition:
    """What the plan grows by with these contenders from a block on; as `prepare` makes a plan.

    They are measured in the variants and on the paths that the plan has, and where they refuse
    device buffers in ways of staging, too.

    UserError where they can measure nothing of it.
    """
    contenders = looked_at(contenders, machine, say)
    made = build_programs([contender.library for contender in contenders], tools)
    lent = machine
    if not dry_run:
        places = places_of(plan.paths, plan.hosts)
        contenders, lent = start(contenders, machine, places, plan.remote_shell, tools, say)
    known = {benchmark.name for benchmark in plan.benchmarks}
    more = [benchmark for benchmark in made.described.benchmarks if benchmark.name not in known]
    described = msgspec.structs.replace(made.described, benchmarks=[*plan.benchmarks, *more])
    programs = Programs(described, made.own)

    def make(found: Sequence[Awareness]) -> Addition:
        awareness = Awarenesses([*plan.awareness, *found], described)
        asked = list(_asked_for(plan, awareness))
        variants = awareness.with_staging(contenders, plan.variants)[len(plan.variants) :]
        omitted = {cut.name for cut in plan.left_out if cut.kind == "staging"}
        kept = [variant for variant in variants if staging(variant.axes) not in omitted]
        adds = added(plan, contenders, kept, suits(awareness, programs, asked), since)
        return msgspec.structs.replace(adds, awareness=list(found))

    def new_part(found: Sequence[Awareness], _seconds: float) -> Plan:
        """What is there already was tried before."""
        adds = make(found)
        return msgspec.structs.replace(plan.grown(adds), launches=adds.launches)

    where, folder = gpu_path(paths_within(lent)), cache() / "trials"
    gate = Gate(described, machine, where, tools, folder, say, retry, not dry_run)
    gate.settle(new_part)
    adds = make(gate.found)
    if not adds.launches:
        raise measures_nothing(contenders)
    return adds


def _asked_for(plan: Plan, known: Awarenesses) -> Iterator[Variant]:
    """The variants of a plan but those that stand in it for what a contender refuses."""
    measured = {
        (launch.contender, number) for launch in plan.launches for number in launch.variants
    }
    direct = [_direct(variant) for variant in plan.variants if staging(variant.axes) is None]
    for number, variant in enumerate(plan.variants):
        if (
            staging(variant.axes) is None
            or _direct(variant) not in direct
            or any(
                (index, number) in measured and known.takes(contender, variant)
                for index, contender in enumerate(plan.contenders)
            )
        ):
            yield variant


def _direct(variant: Variant) -> Variant:
    """The same without staging."""
    return msgspec.structs.replace(variant, axes={**variant.axes, STAGING: DIRECT})
