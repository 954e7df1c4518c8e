# SPDX-License-Identifier: Apache-2.0
"""Secrets in variables, made up here."""

from pathlib import Path

import pytest

from nearpeak.libraries import tunables
from nearpeak.withheld import WITHHELD, is_secret_name, recordable, secrets_in, withhold

BASE64 = "QWxhZGRpbjpvcGVuIHNlc2FtZSBhbmQgbW9yZSB0aGFuIHRoYXQ"


@pytest.mark.parametrize(
    "name",
    [
        *("PMIX_MCA_secret_token", "UCX_AUTH_KEY", "OMPI_MCA_orte_precondition_transports"),
        *("FI_OPX_UUID", "NCCL_PASSWORD", "AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN"),
        *("I_MPI_HYDRA_PASS", "my_cookie", "aws_credentials", "OMPI_MCA_initial_wdir"),
    ],
)
def test_secret_names(name: str) -> None:
    assert is_secret_name(name)
    assert is_secret_name(name.lower())
    assert recordable({name: "LEAK"}) == {name: WITHHELD}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("UCX_TLS", "rc,cuda_copy,cuda_ipc"),
        ("OMPI_MCA_btl", "^openib,self"),
        ("UCX_RNDV_THRESH", "intra:1,inter:auto"),
        ("NCCL_COMM_ID", "10.1.2.3:4567"),  # an address: `publish` replaces it
        ("CUDA_VISIBLE_DEVICES", "GPU-5ab31f5c-1a2b-3c4d-5e6f-0123456789ab"),
        ("UCX_LOG_FILE", "/gpfs/projects/Apollo2/secret-run/a-long-name/With/Many/Parts/1/log"),
        ("I_MPI_ROOT", "/opt/intel/oneapi/mpi/2021.19"),
        ("UCX_NET_DEVICES", "mlx5_0:1,mlx5_1:1"),
        ("OMPI_MCA_mca_base_env_list", "UCX_TLS=rc;X"),
        ("UCX_RKEY_PTR_SEG_SIZE", "512K"),
        ("NCCL_IB_PKEY", "1"),
        ("MV2_SMP_BYPASS", "1"),
    ],
)
def test_what_is_no_secret_is_recorded(name: str, value: str) -> None:
    assert withhold(name, value) == value


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        ("AWS_SECRET_ACCESS_KEY=LEAK;X", "AWS_SECRET_ACCESS_KEY=*;X"),
        ("X=1;my_token=LEAK,Y=2", "X=1;my_token=*,Y=2"),
        ("https://me:LEAK@host/x", "https://*@host/x"),
        ("https://host/x?private_token=LEAK&y=1", "https://host/x?private_token=*&y=1"),
        ("eyJhbGciOi.eyJzdWIiOi.SflKxwRJSM", "*"),
        ("ghp_EXAMPLE", "*"),
        ("glpat-EXAMPLE", "*"),
        ("AKIA-EXAMPLE", "*"),
        ("AKIAIOSFODNN7EXAMPLE", "*"),
        ("-----BEGIN RSA PRIVATE KEY-----\nLEAK\n-----END RSA PRIVATE KEY-----", "*"),
        ("a=" + "0123456789abcdef" * 2, "a=*"),
        ("0123456789abcdef-0123456789abcdef", "*"),
        (f"{BASE64}==", "*"),
    ],
)
def test_secret_values(value: str, kept: str) -> None:
    assert withhold("UCX_X", value) == kept.replace("*", WITHHELD)
    assert secrets_in(value)
    assert not secrets_in(kept.replace("*", WITHHELD))


def test_time_grows_with_length() -> None:
    """A value of a mebibyte that almost matches ends."""
    for unit in ("eyJaaaaa.", "a=", "-----BEGIN A-----", "://a:", "aA1", "?a=&", "sk-"):
        secrets_in(unit * ((1 << 17) // len(unit)))


def test_no_setting_that_is_worth_a_try_is_withheld() -> None:
    folder = Path(tunables.__file__).parent
    names = {
        tunable.name
        for file in folder.glob("*.toml")
        for tunable in tunables.of_component(file.stem)
    }
    assert names
    assert not {name for name in names if is_secret_name(name)}
