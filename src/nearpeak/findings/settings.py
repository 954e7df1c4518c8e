# SPDX-License-Identifier: Apache-2.0
"""Settings that rules name: which fit a library, and which contradict what it is run with."""

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

from nearpeak.observations.observed import Observations
from nearpeak.results.results import Fact, Finding, SettingChange
from nearpeak.terms.identity import Place, Who

Component = Literal["ucx", "intel", "mpich", "openmpi", "ob1"]  # a family, or what several stand on
COMPONENTS: dict[Component, str] = {
    "ucx": "UCX",
    "intel": "Intel MPI",
    "mpich": "MPICH",
    "openmpi": "Open MPI",
    "ob1": "Open MPI without UCX",
}
SHARED: Component = "ob1"  # of messages in host memory inside a host alone
UCX_PREFIX = "UCX_"  # of variables
# By which Open MPI is known to run over UCX where none of UCX's own variables is set.
OVER_UCX = ("OMPI_MCA_pml", "ucx")
UCX_NO = dict.fromkeys(("no", "off", "0"), "n")  # other words of UCX's for it
CONDITION = "env "  # how the conditions of a launch name its variables


class Setting(NamedTuple):
    """A variable of the environment that may help, and what it does."""

    component: Component  # that reads it
    name: str
    value: str
    effect: str  # "each message asks for no handle"
    least_bytes: float = 0.0  # of messages that it may help,
    most_bytes: float = math.inf
    of_device: bool = False  # only messages with a buffer in a GPU

    def helps(self, size: float) -> bool:
        """Whether it may help messages of so many bytes."""
        return self.least_bytes <= size <= self.most_bytes


RENDEZVOUS = Setting(
    "ucx",
    "UCX_RNDV_THRESH",
    "intra:1,inter:auto",
    "inside a node rendezvous from 1 byte on",
    of_device=True,  # in host memory large messages go so without it, and small ones lose by it
)


# Sites set it against crashes of older UCX; as shipped the cache is on.
NO_CACHE = Setting("ucx", "UCX_MEMTYPE_CACHE", "n", "UCX asks the driver anew at each look-up")


EAGER = Setting(
    SHARED,
    "OMPI_MCA_btl_sm_eager_limit",
    "8192",
    "less than 8 KiB at once, as a header counts too",
    # Between its default and this value messages go in another way, and no others do.
    least_bytes=(1 << 12) - 128,
    most_bytes=(1 << 13) - 1,
)


def suggested(
    settings: Iterable[Setting], who: Who | None, known: Observations, place: Place | None
) -> list[SettingChange]:
    """Those that fit a library and what moves at a place, and that nothing in force sets, one way
    or the other."""
    set_ = in_force(who, known)
    shared = place is not None and place.in_host_memory
    device = place is not None and "gpu" in place.ends
    return [
        SettingChange(
            kind="env", name=each.name, value=each.value, instead=None, effect=each.effect
        )
        for each in _fitting(settings, who, known)
        if each.name not in set_
        and (shared or each.component != SHARED)
        and (device or not each.of_device)
    ]


def contradicted(settings: Iterable[Setting], who: Who | None, known: Observations) -> list[Fact]:
    """Variables in force with another value than these settings have: they may be the reason."""
    set_ = in_force(who, known)
    return [
        Fact(of="variable", name=each.name, value=set_[each.name])
        for each in _fitting(settings, who, known)
        if set_.get(each.name, each.value) != each.value
    ]


def given(settings: Iterable[Setting], who: Who | None, known: Observations) -> list[Fact]:
    """Variables in force with the value that these settings have, in any of UCX's words for no."""
    set_ = in_force(who, known)
    return [
        Fact(of="variable", name=each.name, value=set_[each.name])
        for each in _fitting(settings, who, known)
        if each.name in set_ and UCX_NO.get(set_[each.name], set_[each.name]) == each.value
    ]


def in_force(who: Who | None, known: Observations) -> dict[str, str]:
    """The variables that launches of a library had: inherited ones, its own, and those given."""
    found: dict[str, str] = {}
    for launch in known.launches:
        if launch.who == who:
            found |= {
                name.removeprefix(CONDITION): value
                for name, value in launch.conditions.items()
                if name.startswith(CONDITION)
            }
    for library in known.libraries:
        if library.who == who:
            found |= library.given.kept_of(library.env) | library.given.env
    return found


def over_ucx(who: Who | None, known: Observations) -> bool | None:
    """Whether a library's messages go over UCX: it said so itself when it was asked, or its
    variables choose UCX. False: UCX was asked and named no protocol; None: not known."""
    name, value = OVER_UCX
    if in_force(who, known).get(name) == value:
        return True
    said = [
        bool(said.protocols)
        for explanation in known.explanations
        if explanation.who == who
        for said in explanation.said
        if UCX_PREFIX in said.asked
    ]
    return any(said) if said else None


def named_settings(findings: Iterable[Finding]) -> list[tuple[str, str]]:
    """The variables, with their values, that these findings give as remedies, each once, in the
    order of the findings: what is worth trying first. Of one library, where the findings are."""
    return list(dict.fromkeys(_named(findings)))


def _named(findings: Iterable[Finding]) -> Iterator[tuple[str, str]]:
    for finding in findings:
        for change in finding.remedy.changes:
            if change.kind == "env" and change.value is not None:
                yield change.name, change.value
        yield from _named(finding.explains)


def _fitting(
    settings: Iterable[Setting], who: Who | None, known: Observations
) -> Sequence[Setting]:
    reads = components(who, known)
    return [each for each in settings if each.component in reads]


def components(who: Who | None, known: Observations) -> set[str]:
    """What a library is known to run with, and so reads variables: its family, and UCX where it
    shows itself in its variables, or in what the library said of itself."""
    family = {library.family for library in known.libraries if library.who == who}
    own = any(each.startswith(UCX_PREFIX) for each in in_force(who, known))
    reads_ucx = over_ucx(who, known) or (own and "intel" not in family)
    without = {SHARED} if "openmpi" in family else set()
    return family | ({"ucx"} if reads_ucx else without)
