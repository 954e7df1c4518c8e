# SPDX-License-Identifier: Apache-2.0
"""Settings that rules name, and the settings of a library that are in force."""

import math
from collections.abc import Container, Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Literal, NamedTuple

from nearpeak.observations.observed import Observations
from nearpeak.results.results import Fact, Finding, SettingChange
from nearpeak.terms.identity import Place, Who

Component = Literal["ucx", "intel", "mpich", "openmpi", "ob1"]  # a family, or a shared component
COMPONENTS: dict[Component, str] = {
    "ucx": "UCX",
    "intel": "Intel MPI",
    "mpich": "MPICH",
    "openmpi": "Open MPI",
    "ob1": "Open MPI without UCX",
}
SHARED: Component = "ob1"  # only messages in host memory inside a host
UCX_PREFIX = "UCX_"  # of variables
# Shows that Open MPI runs over UCX if no variable of UCX is set.
OVER_UCX = ("OMPI_MCA_pml", "ucx")
UCX_NO = dict.fromkeys(("no", "off", "0"), "n")  # other words of UCX for `n`
UCX_LIST = "UCX_TLS"  # the transports that UCX may use
UCX_IPC = {"cuda_ipc": "nvidia", "rocm_ipc": "amd"}  # transport -> vendor of its GPUs
CONDITION = "env "  # prefix of variables in the conditions of a launch


class Setting(NamedTuple):
    """An environment variable that may help, with its effect."""

    component: Component  # that reads it
    name: str
    value: str
    effect: str  # "each message asks for no handle"
    least_bytes: float = 0.0  # of messages that it may help;
    most_bytes: float = math.inf
    of_device: bool = False  # only messages with a buffer in a GPU

    def helps(self, size: float) -> bool:
        """True if it may help messages of this size."""
        return self.least_bytes <= size <= self.most_bytes


RENDEZVOUS = Setting(
    "ucx",
    "UCX_RNDV_THRESH",
    "intra:1,inter:auto",
    "inside a node rendezvous from 1 byte on",
    of_device=True,  # in host memory it is the default for large messages, and slows small ones
)


# Sites set it against crashes of older UCX; as shipped the cache is on.
NO_CACHE = Setting("ucx", "UCX_MEMTYPE_CACHE", "n", "UCX asks the driver anew at each look-up")


EAGER = Setting(
    SHARED,
    "OMPI_MCA_btl_sm_eager_limit",
    "8192",
    "less than 8 KiB at once, as a header counts too",
    # Only messages between its default and this value change their protocol.
    least_bytes=(1 << 12) - 128,
    most_bytes=(1 << 13) - 1,
)


def suggested(
    settings: Iterable[Setting], who: Who | None, observations: Observations, place: Place | None
) -> list[SettingChange]:
    """The settings that fit a library and a place, and that are not set to any value."""
    set_ = in_force(who, observations)
    shared = place is not None and place.in_host_memory
    device = place is not None and "gpu" in place.ends
    return [
        SettingChange(
            kind="env", name=setting.name, value=setting.value, instead=None, effect=setting.effect
        )
        for setting in _fitting(settings, who, observations)
        if setting.name not in set_
        and (shared or setting.component != SHARED)
        and (device or not setting.of_device)
    ]


def contradicted(
    settings: Iterable[Setting], who: Who | None, observations: Observations
) -> list[Fact]:
    """Variables in force with other values than the settings: possible reasons."""
    set_ = in_force(who, observations)
    return [
        Fact(of="variable", name=setting.name, value=set_[setting.name])
        for setting in _fitting(settings, who, observations)
        if set_.get(setting.name, setting.value) != setting.value
    ]


def given(
    settings: Iterable[Setting], who: Who | None, observations: Observations, place: Place | None
) -> list[Fact]:
    """Variables in force with the effect of the settings, in any spelling of UCX."""
    set_ = in_force(who, observations)
    vendors = {gpu.vendor for gpu in observations.machine.gpus}
    device = place is not None and place.hosts == 1 and "gpu" in place.ends
    values = {
        setting.name: set_[setting.name]
        for setting in _fitting(settings, who, observations)
        if setting.name in set_
        and _same(setting, set_[setting.name], vendors)
        and (device or not setting.of_device)
    }
    return [Fact(of="variable", name=name, value=value) for name, value in values.items()]


def _same(setting: Setting, value: str, vendors: Container[str]) -> bool:
    """True if a value has the effect of a setting on a machine with GPUs of these vendors."""
    if setting.name != UCX_LIST:
        return UCX_NO.get(value, value) == setting.value
    transport = setting.value.removeprefix("^")
    return UCX_IPC[transport] in vendors and leaves_out(value, transport)


def leaves_out(transports: str, one: str) -> bool:
    """True if a list of `UCX_TLS` keeps UCX from one transport of GPUs.

    The list has names, patterns, and groups such as `cuda`; behind `^` are those that UCX leaves
    out.
    """
    listed = transports.removeprefix("^").split(",")
    names = ["all", one, one.partition("_")[0]]
    if transports.startswith("^"):
        names.remove("all")
    named = any(fnmatchcase(name, pattern.strip()) for name in names for pattern in listed)
    return named == transports.startswith("^")


def in_force(who: Who | None, observations: Observations) -> dict[str, str]:
    """The variables of launches of a library: inherited, of the library, and of its settings."""
    variables: dict[str, str] = {}
    for launch in observations.launches:
        if launch.who == who:
            variables |= {
                name.removeprefix(CONDITION): value
                for name, value in launch.conditions.items()
                if name.startswith(CONDITION)
            }
    for library in observations.libraries:
        if library.who == who:
            variables |= library.given.kept_of(library.env) | library.given.env
    return variables


def over_ucx(who: Who | None, observations: Observations) -> bool | None:
    """True if the messages of a library go over UCX, by its report or its variables.

    False: UCX was made to report and named no protocol; None: not known.
    """
    name, value = OVER_UCX
    if in_force(who, observations).get(name) == value:
        return True
    answers = [
        bool(report.protocols)
        for explanation in observations.explanations
        if explanation.who == who
        for report in explanation.said
        if UCX_PREFIX in report.asked
    ]
    return any(answers) if answers else None


def named_settings(findings: Iterable[Finding]) -> list[tuple[str, str]]:
    """The variables, with values, that the findings of one library name as remedies.

    Unique, in the order of the findings: the most promising first.
    """
    return list(dict.fromkeys(_named(findings)))


def _named(findings: Iterable[Finding]) -> Iterator[tuple[str, str]]:
    for finding in findings:
        for change in finding.remedy.changes:
            if change.kind == "env" and change.value is not None:
                yield change.name, change.value
        yield from _named(finding.explains)


def _fitting(
    settings: Iterable[Setting], who: Who | None, observations: Observations
) -> Sequence[Setting]:
    reads = components(who, observations)
    return [setting for setting in settings if setting.component in reads]


def components(who: Who | None, observations: Observations) -> set[str]:
    """The components whose variables a library reads: its family, and UCX if it uses it."""
    family = {library.family for library in observations.libraries if library.who == who}
    has_ucx_variables = any(name.startswith(UCX_PREFIX) for name in in_force(who, observations))
    reads_ucx = over_ucx(who, observations) or (has_ucx_variables and "intel" not in family)
    without = {SHARED} if "openmpi" in family else set()
    return family | ({"ucx"} if reads_ucx else without)
