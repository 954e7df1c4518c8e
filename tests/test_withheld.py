# SPDX-License-Identifier: Apache-2.0
"""Secrets in variables, made up here."""

import json
import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from nearpeak.launching.program_records import EnvironmentRecord
from nearpeak.libraries import tunables
from nearpeak.machine.doctor import settings_in
from nearpeak.withheld import WITHHELD, is_secret_name, recordable, secrets_in, withhold
from planted import HARMLESS, PLANTED

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


def test_planted_secrets_are_withheld() -> None:
    kept = [(n, v) for n, v, secret in PLANTED if secret in withhold(n, v)]
    assert len(PLANTED) >= 40
    assert kept == []


def test_harmless_variables_are_recorded_as_they_are() -> None:
    assert len(HARMLESS) >= 40
    assert [each for each in HARMLESS if recordable(dict([each])) != dict([each])] == []


def test_doctor_and_the_records_of_programs_hold_no_planted_secret() -> None:
    for name, value, secret in PLANTED:
        record = EnvironmentRecord(
            program="x", version="1", library_version=None, ranks=[], clock={}, env={name: value}
        )
        assert secret not in msgspec.json.encode(record.env).decode()
        assert secret not in str(settings_in({name: value}))


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        ("a=x password=a", "a=x password=*"),  # a short one only where it stands
        ("token=LEAK-1 again LEAK-1", "token=* again *"),
        ("LOADED=1;PWD=/home/me;X=1", "LOADED=1;PWD=/home/me;X=1"),
        ("/opt/token/x:/opt/key:/usr", "/opt/token/x:/opt/key:/usr"),
        ("disable basic settings", "disable basic settings"),
        ("password          =          LEAK", "password          =          *"),
        ('{"token":["LEAK"]}', '{"token":["*"]}'),
        ("{b'token': b'LEAK'}", "{b'token': b'*'}"),
    ],
)
def test_only_the_secret_is_cut_out(value: str, kept: str) -> None:
    assert withhold("UCX_X", value) == kept.replace("*", WITHHELD)


UNITS = (
    *(
        "eyJ",
        "eyJaaaaa.",
        "a=",
        "key=",
        "key ",
        "key:",
        "key='",
        "key:[",
        "pwd=",
        "PW1",
        "PWD=PWD=",
    ),
    *("-----BEGIN A-----", "-----BEGIN A-----\n-----END", "://", "://a:", "://a:a", "?a=&"),
    *("aA1", "aA1/", "aA1=", "sk-", "AIza", "SG.", "Bearer ", "Basic a", "a:", "a:[", "a:a@", "a@"),
    *(
        "thin:a/",
        "-u a:",
        "hooks.slack.com/",
        'key=\\"',
        "deadbeef",
        "token\t",
        " ",
        "'",
        "(withheld)",
    ),
    *("JOB_ID", "PROJECT", "~a", "a.", "ssh ", "CN=", "uid=1(", "::", "1234.a-", "A=A", "FOO="),
)
# Growth is measured by the time that the process itself ran: four times the length may take eight
# times as long, and not sixteen times as with a square. What takes no time is no growth.
GROWTH = """
import json, sys, time
from nearpeak.publish import look
from nearpeak.publish.names import Names
from nearpeak.withheld import secrets_in

def names(text):
    Names().learn([text])

def run(call, text):
    begin = time.process_time()
    call(text)
    return time.process_time() - begin

calls = [secrets_in, lambda text: list(look._in_line(text, look._LOOKED_FOR)), names]
for unit in json.load(sys.stdin):
    for number, call in enumerate(calls):
        short, long = (unit * (length // len(unit)) for length in (16384, 65536))
        for _ in range(3):  # a machine that is busy may spoil one
            times = run(call, short), run(call, long)
            if times[1] < 1 or times[1] < 8 * times[0]:
                break
        else:
            print(repr(unit), number, times)
"""


def test_time_grows_with_length() -> None:
    """No value that almost matches takes a time that grows with the square of its length."""
    ended = subprocess.run(
        [sys.executable, "-c", GROWTH],
        input=json.dumps(UNITS),
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=900,
        check=True,
    )
    assert ended.stdout == ""


def test_no_setting_that_is_worth_a_try_is_withheld() -> None:
    folder = Path(tunables.__file__).parent
    names = {
        tunable.name
        for file in folder.glob("*.toml")
        for tunable in tunables.of_component(file.stem)
    }
    assert names
    assert not {name for name in names if is_secret_name(name)}
