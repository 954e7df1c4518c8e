# Every figure in this file is written by hand, none was measured.
# SPDX-License-Identifier: Apache-2.0
"""Settings that rules name: to whom they are told."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from nearpeak.findings.find import find_in
from nearpeak.findings.rules import all_rules
from nearpeak.findings.rules.pieces import RULE as OF_PIECES
from nearpeak.findings.settings import COMPONENTS, NO_CACHE, named_settings
from nearpeak.libraries.library import Settings
from nearpeak.observations.explained import Said
from nearpeak.terms.identity import Place

OVER_UCX = {"OMPI_MCA_pml": "ucx"}
[PIECES] = OF_PIECES.settings


def found(by_hand: Any, env: dict[str, str], said: Sequence[Said] = (), **known: Any) -> list[Any]:
    """Look-ups, handles of memory, and many pieces, of a library with these variables."""
    parts = [
        by_hand.part("call", "cuMemGetHandleForAddressRange", 40.0),
        by_hand.part("call", "cuPointerGetAttributes", 20.0),
        by_hand.part("call", "cuMemcpyAsync", 15.0, count=2037.0),
        by_hand.part("device", "copy, pageable to device", 2.0, count=2037.0, bytes=8236.0),
    ]
    [library] = by_hand.EXPLAINED["libraries"]
    library = replace(library, env=env, **known)
    observed = {**by_hand.EXPLAINED, "libraries": [library]}
    explained = msgspec.structs.replace(by_hand.explained(*parts), said=list(said))
    return find_in(by_hand.view([], explanations=[explained], **observed))


def variables(finding: Any) -> list[tuple[str, str]]:
    """Those in force that may be the reason."""
    return [(fact.name, fact.value) for fact in finding.facts if fact.of == "variable"]


def test_of_several_signs_of_one_fault_the_largest_stands_alone(by_hand: Any) -> None:
    [finding] = found(by_hand, OVER_UCX)
    assert (finding.kind, [each.kind for each in finding.explains]) == (
        "dma_buf",
        ["lookups", "pieces"],
    )


def test_all_settings_are_named_once_and_the_first_of_them_first(by_hand: Any) -> None:
    findings = found(by_hand, OVER_UCX)
    assert named_settings([*findings, *findings]) == [
        ("UCX_CUDA_COPY_DMABUF", "n"),
        (PIECES.name, PIECES.value),
    ]


def test_what_is_set_is_not_advised_but_told(by_hand: Any) -> None:
    [finding] = findings = found(by_hand, {**OVER_UCX, "UCX_CUDA_COPY_DMABUF": "y"})
    assert named_settings(findings) == [(PIECES.name, PIECES.value)]
    assert variables(finding) == [("UCX_CUDA_COPY_DMABUF", "y")]
    given = Settings(name="default", env={"UCX_CUDA_COPY_DMABUF": "n"})
    findings = found(by_hand, OVER_UCX, given=given)
    assert named_settings(findings) == [(PIECES.name, PIECES.value)]
    assert variables(findings[0]) == []
    env = {**OVER_UCX, "UCX_CUDA_COPY_DMABUF": "y"}
    without = found(by_hand, env, given=Settings(unset=["UCX_CUDA_COPY_DMABUF"]))
    assert named_settings(without) == named_settings(found(by_hand, OVER_UCX))


@pytest.mark.parametrize("value", ["n", "no", "y", "try", None])
def test_what_turns_the_cache_of_look_ups_off_is_told_with_look_ups_and_handles(
    by_hand: Any, value: str | None
) -> None:
    env = {} if value is None else {NO_CACHE.name: value}
    [finding] = findings = found(by_hand, OVER_UCX | env)
    told = [(NO_CACHE.name, value)] if value in ("n", "no") else []
    lookups, pieces = finding.explains
    assert [variables(each) for each in (finding, lookups, pieces)] == [told, told, []]
    assert NO_CACHE.name not in dict(named_settings(findings))  # on as shipped: nothing to try


@pytest.mark.parametrize("family", ["openmpi", "intel"])  # the rule names settings of UCX alone
def test_a_search_is_named_whatever_the_library(by_hand: Any, family: str) -> None:
    [finding, *_] = found(by_hand, {}, family=family)
    assert finding.remedy.tune == (
        "nearpeak tune --mpi one --path 'host-gpu near' --buffers H,D --for latency:1M"
    )


def test_no_search_is_named_for_figures_of_another_tool(by_hand: Any) -> None:
    [finding, *_] = found(by_hand, {}, family="")
    assert finding.remedy.tune == ""


@pytest.mark.parametrize(
    ("family", "env"), [("openmpi", {}), ("intel", {"UCX_TLS": "all"}), ("mpich", {})]
)
def test_settings_of_ucx_are_for_what_runs_over_it(by_hand: Any, family: str, env: Any) -> None:
    assert named_settings(found(by_hand, env, family=family)) == []


@pytest.mark.parametrize(
    ("asked", "named"),
    [
        ("OMPI_MCA_pml_base_verbose=10 UCX_PROTO_INFO=used", 2),
        ("NCCL_DEBUG=INFO", 0),  # protocols of another library
    ],
)
def test_protocols_that_ucx_says_show_that_it_is_there(
    by_hand: Any, asked: str, named: int
) -> None:
    said = Said(size_bytes=8, asked=asked, protocols=["any"], lines=[])
    assert len(named_settings(found(by_hand, {}, [said]))) == named


def test_what_launches_inherit_is_in_force(by_hand: Any) -> None:
    part = by_hand.part("call", "cuPointerGetAttributes", 20.0)
    launch = by_hand.make_launch(0, by_hand.Who("one"), conditions={f"env {NO_CACHE.name}": "n"})
    known = {"explanations": [by_hand.explained(part)], **by_hand.EXPLAINED}
    [finding] = find_in(by_hand.view([], launches=[launch], **known))
    assert finding.remedy.changes == []
    assert variables(finding) == [(NO_CACHE.name, "n")]


def test_every_setting_is_of_a_known_component_and_says_what_it_does() -> None:
    named = [setting for rule in all_rules() for setting in rule.settings]
    assert {setting.component for setting in named} == set(COMPONENTS)
    assert all(setting.effect for setting in named)
    prose = re.compile(r"\b(UCX|I_MPI|OMPI_MCA|MPIR_CVAR)_\w+=")
    assert not any(prose.search(rule.remedy) for rule in all_rules())


@pytest.mark.parametrize(
    ("env", "ends", "times", "named"),
    [
        ({}, ("host", "host"), 1, [("OMPI_MCA_btl_sm_eager_limit", "8192")]),
        ({}, ("host", "host"), 2, []),  # no message of these goes at once
        ({}, ("host", "host"), 1 / 16, []),  # all of these do as it is
        ({"OMPI_MCA_btl_sm_eager_limit": "4096"}, ("host", "host"), 1, []),
        ({}, ("gpu", "gpu"), 1, []),
        (OVER_UCX, ("host", "host"), 1, []),  # in host memory it changes nothing, or loses
        (OVER_UCX, ("gpu", "gpu"), 1, [("UCX_RNDV_THRESH", "intra:1,inter:auto")]),
    ],
)
def test_the_threshold_of_open_mpi_without_ucx_in_shared_memory(
    by_hand: Any, env: Any, ends: Any, times: int, named: Any
) -> None:
    place = Place(path="p", ends=ends)
    cells = [
        by_hand.make_cell("latency", us, x=int(times * x), library="one", place=place)
        for us, x in ((20.0, 4096), (2.0, 5000))
    ]
    [library] = by_hand.EXPLAINED["libraries"]
    found = find_in(by_hand.view(cells, libraries=[replace(library, env=env)]))
    assert named_settings(found) == named
