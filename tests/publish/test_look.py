# SPDX-License-Identifier: Apache-2.0
"""The last look over a copy: what may be private is named with its place, and figures are not."""

from pathlib import Path

import pytest

from nearpeak.publish.look import look


@pytest.mark.parametrize(
    ("what", "text"),
    [
        ("e-mail", "user.one@lab.example.gov"),
        ("IPv4 address", "10.17.3.4"),
        ("IPv4 address in hexadecimal", "0x0a110304"),
        ("IPv6 address", "2001:db8:85a3::8a2e:370:7334"),
        ("IPv6 address", "fe80:0000:0000:0000:ec0d:9a03:00ca:2f5c"),
        ("MAC address", "00-1A-2B-3C-4D-5E"),
        ("MAC address", "001a.2b3c.4d5e"),
        ("UUID", "550e8400-e29b-41d4-a716-446655440000"),
        ("long number", "ec0d9a0300ca2f5c"),
        ("job", "4711234.pbs01.cluster.example.org"),
        ("job", "SLURM_JOB_ID=8123456"),
        ("account", "SLURM_JOB_ACCOUNT=nuclear-weapons"),
        ("account", "uid=1001(user1)"),
        ("full name", "gpu-b19.hpc.acme.com"),
        ("full name", "gpu-b19.hpc.acme.com:8080"),
        ("full name", "http://proxy.hpc.acme.com/wheels"),
        ("home", "/home/carol"),
        ("home", "~other/apollo"),
        ("user of a domain", "LAB\\\\user1"),
        ("key", "eyJhbGciOiJIUzI1.eyJzdWIiOiIxMjM0.SflKxwRJSMeKKF"),
        ("key", "password=planted-1"),
        ("variable", "DB_NAME=planted"),
        ("variable", "OMPI_MCA_site_x=planted"),
        ("variable", "MY_CODE=739214"),
        ("hidden word", "apollo"),
    ],
)
def test_what_is_named(tmp_path: Path, what: str, text: str) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "1.log").write_text(f"one\ntwo {text}/x\n{text}\n".replace("/x", " x", 1))
    found = [doubt for doubt in look(tmp_path, ["apollo"]) if doubt.what == what]
    [doubt] = found
    assert (doubt.file, doubt.line, doubt.places) == ("logs/1.log", 2, 2)
    assert doubt.text in text


@pytest.mark.parametrize(
    "text",
    [
        *("12:34:56", "0000:18:00.0", "00000000:18:00.0", "127.0.0.1", "user1@host1", "5.0.11"),
        *("libmpi.so.40@VERSION", "/home/user1/dir1", "0x84000003", "openmpi@dmabuf-off.toml"),
        f'{{"digest":"{"0123456789abcdef" * 4}"}}',
        "UCX_TLS=rc UCX_X=64k A=1 X=value12 P=/dir1 TOKEN=(withheld) lower=x",
        "https://docs.nvidia.com/x www.open-mpi.org, help-mpi-api.a.txt /opt/a.b.so 1.17.0.dev",
        "host1.domain1 node1.c.domain1 /opt/mpi.a.bin/x",
        '"id":"837d0187fef74cccbc451b5fdc2019a3"',
    ],
)
def test_what_is_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "plan.json").write_text(text + "\n")
    assert look(tmp_path) == []


def test_lines_of_samples_are_passed_over(tmp_path: Path) -> None:
    line = '{"record":"samples","samples":[1234567890123.0,10.1.2.3]}\n'
    (tmp_path / "records.jsonl").write_text(line)
    assert look(tmp_path) == []


def test_the_host_and_the_user_that_look_are_looked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("socket.gethostname", lambda: "cn0421.cluster")
    monkeypatch.setattr("getpass.getuser", lambda: "carol")
    (tmp_path / "a").write_text("CN0421-ib0 of carol\n")
    assert {doubt.what for doubt in look(tmp_path)} >= {"name of host", "name of user"}
