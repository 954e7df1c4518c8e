# Every figure in this file is written by hand, none was measured.
# SPDX-License-Identifier: Apache-2.0
"""Sources that rules name: under which findings they stand."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from nearpeak.findings.evidence import Rule
from nearpeak.findings.find import find_in
from nearpeak.findings.rules import all_rules
from nearpeak.findings.settings import Component
from nearpeak.findings.sources import Memory, Reference, fitting
from nearpeak.libraries.library import Settings
from nearpeak.observations.observed import Library
from nearpeak.results.results import Fact, Finding, Remedy
from nearpeak.terms.identity import Case, Place, Who

# What a library runs with, by its family and its variables.
LIBRARIES: dict[str, tuple[str, dict[str, str], set[Component]]] = {
    "openmpi": ("openmpi", {}, {"openmpi", "ob1"}),
    "openmpi-cuda": ("openmpi", {"OMPI_MCA_pml": "ucx"}, {"openmpi", "ucx"}),
    "mpich": ("mpich", {}, {"mpich"}),
    "intel": ("intel", {}, {"intel"}),
}
BUFFERS: dict[str, set[Memory]] = {
    "H,H": {"host"},
    "P,P": {"host"},
    "H,D": {"device"},
    "D,D": {"device"},
    "M,D": {"device", "managed"},
}
# Of whose threads and manuals an address is.
PROJECTS: dict[str, Component] = {
    "github.com/open-mpi/": "openmpi",
    "docs.open-mpi.org/": "openmpi",
    "github.com/openucx/": "ucx",
    "github.com/rapidsai/ucx-py/": "ucx",
    "github.com/pmodels/": "mpich",
    "intel.com/": "intel",
}
NAMES = "OMPI_MCA_ UCX_ MPIR_CVAR_ I_MPI_ mca-params.conf ucx.conf"


def references() -> Iterator[tuple[Rule, Reference]]:
    for rule in all_rules():
        for reference in rule.sources:
            yield rule, reference


def library(name: str) -> Library:
    family, env, _ = LIBRARIES[name]
    return Library(Who(name), family, "1", "", env, Settings(), native=False)


def known(by_hand: Any) -> Any:
    libraries = [library(name) for name in LIBRARIES]
    return by_hand.view([], libraries=libraries).observations


def finding(who: str | None, buffers: str, hosts: int, facts: str = NAMES) -> Finding:
    return Finding(
        kind="dip",
        sure=True,
        who=Who(who) if who else None,
        place=Place(path="by hand", hosts=hosts),
        case=Case(benchmark="bw", metric="bw", buffers=buffers, axes={}, x=8),
        facts=[Fact(of="variable", name=facts, value="")],
        remedy=Remedy(text=""),
        check=[],
    )


@pytest.mark.parametrize(
    "reference",
    [pytest.param(each, id=f"{rule.name} {each.source.text[:30]}") for rule, each in references()],
)
def test_every_source_stands_under_what_it_is_about_alone(
    by_hand: Any, reference: Reference
) -> None:
    observations, stands = known(by_hand), 0
    for name, (_, _, components) in LIBRARIES.items():
        for buffers, memories in BUFFERS.items():
            for hosts in (0, 1, 2):
                fits = (
                    {*reference.components} <= components
                    and (reference.memory is None or reference.memory in memories)
                    and reference.hosts in (None, ("unknown", "one", "several")[hosts])
                )
                told = fitting([reference], finding(name, buffers, hosts), observations)
                assert told == ([reference.source] if fits else [])
                stands += fits
                if reference.names:
                    without = finding(name, buffers, hosts, facts="another")
                    assert not fitting([reference], without, observations)
    assert stands


@pytest.mark.parametrize(("rule", "reference"), list(references()))
def test_what_a_project_says_is_said_of_its_library(rule: Rule, reference: Reference) -> None:
    address, text = reference.source.address, reference.source.text
    for project, component in PROJECTS.items():
        if project in address and not reference.names:  # names say whose variables or files
            own = {component, "ob1"} if component == "openmpi" else {component}
            assert own & {*reference.components}, rule.name
    if re.search(r"indexed types|derived type\b|GPU buffer|managed", text):
        assert reference.memory in ("device", "managed"), rule.name


def test_a_finding_of_no_library_is_one_of_all(by_hand: Any) -> None:
    reference = Reference(next(references())[1].source, components=("ucx",))
    everyone = finding(None, "D,D", 1)
    assert fitting([reference], everyone, known(by_hand))
    assert not fitting([reference], everyone, by_hand.view([]).observations)


def test_without_a_case_the_path_says_where_messages_are(by_hand: Any) -> None:
    reference = Reference(next(references())[1].source, memory="device")
    told = finding("openmpi", "H,H", 1)
    told.case = None
    assert not fitting([reference], told, known(by_hand))
    told.place = Place(path="by hand", ends=("host", "gpu"))
    assert fitting([reference], told, known(by_hand))


@pytest.mark.parametrize(
    ("rule", "name", "buffers", "hosts", "has", "lacks"),
    [
        ("dip", "openmpi", "H,H", 1, "shared-memory", "1832"),
        ("dip", "openmpi-cuda", "H,H", 1, None, "1832"),
        ("dip", "openmpi-cuda", "H,H", 2, "1832", "shared-memory"),
        ("datatypes", "mpich", "H,H", 1, "978-3-642-24449-0_18", "12202"),
        ("datatypes", "openmpi", "H,H", 1, "978-3-642-24449-0_18", "8720"),
        ("datatypes", "openmpi-cuda", "D,D", 1, "12202", "intel"),
        ("yields", "mpich", "H,H", 1, "1597", "3971"),
        ("yields", "openmpi", "H,H", 1, "3971", "1597"),
    ],
)
def test_of_cases_that_once_had_another_source(
    by_hand: Any, rule: str, name: str, buffers: str, hosts: int, has: str | None, lacks: str
) -> None:
    [sources] = [each.sources for each in all_rules() if each.name == rule]
    told = fitting(sources, finding(name, buffers, hosts), known(by_hand))
    addresses = " ".join(source.address for source in told)
    assert (has or "") in addresses
    assert lacks not in addresses


def test_findings_have_the_sources_that_fit(by_hand: Any) -> None:
    """Of a dip inside a host, in host memory, with Open MPI's own shared memory."""
    cells = [
        by_hand.make_cell(
            "latency",
            us,
            x=x,
            ceiling=ceiling,
            noise=0.01,
            buffers="H,H",
            place=Place(path="cores"),
        )
        for x, us, ceiling in ((512, 2.0, 1.0), (4096, 12.0, 2.0), (32768, 9.0, 3.0))
    ]
    found = find_in(by_hand.view(cells, libraries=[library("openmpi")]))
    [dip] = [each for each in found if each.kind == "dip"]
    assert [source.address.rsplit("/")[-1] for source in dip.sources] == ["shared-memory.html"]
