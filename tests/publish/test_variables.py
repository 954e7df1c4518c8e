# SPDX-License-Identifier: Apache-2.0
"""Which variables keep their values in a copy. All values are made up."""

import shlex

import pytest

from nearpeak.publish.names import Names
from nearpeak.publish.variables import known_names, may_stay
from planted import PLANTED


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("UCX_TLS", "rc,cuda_copy"),
        ("UCX_CUDA_COPY_DMABUF", "n"),
        ("OMP_NUM_THREADS", "4"),
        ("CUDA_VISIBLE_DEVICES", "GPU-5ab31f5c-1a2b-3c4d-5e6f-0123456789ab"),
        ("UCX_UNKNOWN", "16384"),
        ("UCX_LOG_FILE", "/home/carol/log"),  # as paths are replaced
        ("ANY", "yes"),
        ("ANY", "64k"),
        ("ANY", "4800"),
        ("ANY", "128"),
        ("UCX_RNDV_THRESH", "16383"),
        ("UCX_AUTH_KEY", "(withheld)"),
    ],
)
def test_known_names_and_plain_values_stay(name: str, value: str) -> None:
    assert may_stay(name, value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("P_ACCOUNT", "nuclear-weapons"),
        ("UCX_UNKNOWN", "apollo"),
        ("UCX_TLS", "ghp_EXAMPLE"),
        ("UCX_AUTH_KEY", "1234"),
        ("FI_OPX_UUID", "11112222-3333-4444-5555-666677778888"),
        ("OMPI_MCA_mca_base_env_list", "A=1;DB_PW=planted;SLURM_JWT=planted"),
        ("OMPI_MCA_mca_base_env_list", "A;B"),
        ("SLURM_EXPORT_ENV", "PATH,APOLLO"),
        ("OMP_X", "A=apollo"),
        ("UCX_TLS", '{"x":"apollo"}'),
        ("UCX_SITE_PIN", "4711"),
        ("ANY", "4711"),
        ("UCX_UNKNOWN", "739214"),
    ],
)
def test_all_else_is_replaced(name: str, value: str) -> None:
    assert not may_stay(name, value)


def test_no_planted_secret_stays() -> None:
    assert [(name, value) for name, value, _ in PLANTED if may_stay(name, value)] == []


def test_tunables_and_named_settings_are_known() -> None:
    assert {"UCX_TLS", "UCX_MEMTYPE_CACHE", "UCX_NET_DEVICES", "I_MPI_ROOT"} <= known_names()


@pytest.mark.parametrize("value", ["User One <u@x.org>", "it's", "latency", "a b"])
def test_an_assignment_is_replaced_in_command_lines(value: str) -> None:
    names = Names()
    names.variable("P_X", value)
    line = shlex.join(
        ["env", f"P_X={value}", "OMP_X=1", "mpiexec", "-env", "P_X", value, "latency"]
    )
    assert names.replace(line).startswith(("env P_X=value1 ", "env 'P_X=value1' "))
    assert names.replace(line).endswith(" latency")
    assert names.value("P_X", value) == "value1"
    assert names.value("P_Y", "latency") == "latency"


def test_a_secret_is_replaced_wherever_it_stands() -> None:
    names = Names()
    names.variable("UCX_AUTH_KEY", "topsecretkey123")
    names.variable("A", "x;my_token=other-secret")
    assert names.replace("said topsecretkey123 and other-secret") == "said value1 and value2"
