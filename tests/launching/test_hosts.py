# SPDX-License-Identifier: Apache-2.0
"""Hosts that are like this machine, and hosts that differ from it."""

import json
import os
import shlex
import socket
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from nearpeak.errors import UserError
from nearpeak.launching.hosts import describe, differences, remarks
from nearpeak.machine.machine import Machine

NEARPEAK = str(Path(sys.executable).with_name("nearpeak"))


def test_what_differs_is_named(dgx: Machine) -> None:
    here = dgx
    assert list(differences(here, msgspec.structs.replace(here, hostname="other"))) == []
    other = msgspec.structs.replace(here, cpu_model="Other CPU", gpus=here.gpus[:1])
    cpu, gpus = differences(here, other)
    assert cpu == f"CPU: Other CPU, here {here.cpu_model}"
    assert gpus.startswith(f"GPUs: {here.gpus[0].name} at NUMA node")
    fewer = msgspec.structs.replace(here, allowed_cpus=here.allowed_cpus[:1], nics=[])
    told = [line.partition(":")[0] for line in differences(here, fewer)]
    assert "usable CPUs" in told


def test_one_of_three_hosts_has_fewer_cpus(three_hosts: Any, tmp_path: Path) -> None:
    """The third one lets programs use its first CPU alone."""
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        pytest.skip("one CPU to run on")
    real, last = shlex.quote(three_hosts.remote_shell), three_hosts.names[2]
    shell = tmp_path / "shell"
    bound = f'[ "$1" = {last} ] && exec taskset -c {cpus[0]} {real} "$@"'
    shell.write_text(f'#!/bin/sh\n{bound}\nexec {real} "$@"\n')
    shell.chmod(0o755)
    hosts = ["--hosts", ",".join(three_hosts.names), "--remote-shell", str(shell)]
    done = three_hosts.run([NEARPEAK, "machine", "--json", *hosts])
    assert (done.returncode, done.stderr) == (0, "")
    whole = json.loads(done.stdout)
    assert whole["alike"] == list(three_hosts.names[:2])
    assert list(whole["others"]) == [last]
    assert whole["others"][last]["allowed_cpus"] == cpus[:1]
    assert whole["others"][last]["hostname"] == last
    done = three_hosts.run([NEARPEAK, "machine", *hosts])
    assert f"Hosts that are alike: {', '.join(three_hosts.names[:2])}" in done.stdout
    assert f"{last} differs: usable CPUs: {cpus[0]}, here" in done.stdout


def test_a_host_that_does_not_say_what_it_is(tmp_path: Path, dgx: Machine) -> None:
    shell = tmp_path / "shell"
    shell.write_text("#!/bin/sh\necho no python here >&2; exit 1\n")
    shell.chmod(0o755)
    told = describe(dgx, ["localhost", "a"], str(shell))
    assert told == {"localhost": dgx, "a": "no python here"}
    (line,) = remarks(dgx, ["localhost", "a"], str(shell))
    assert line.startswith("a does not say what it is (no python here)")


def test_another_host_compares_its_copies_where_that_is_asked_for(
    tmp_path: Path, dgx: Machine
) -> None:
    """Stands for a host without GPUs, which has nothing to copy between."""
    shell = tmp_path / "shell"
    shell.write_text('#!/bin/sh\nexport CUDA_VISIBLE_DEVICES=\nexec sh -c "$2"\n')
    shell.chmod(0o755)
    for copies in (True, False):
        other = describe(dgx, ["a"], str(shell), 2, copies=copies)["a"]
        assert isinstance(other, Machine)
        checks = [one.id for one in other.diagnoses]
        assert "cores" in checks
        assert ("gpu-copies" in checks) == copies


def test_a_host_of_a_flux_instance_is_reached_by_its_broker(
    tmp_path: Path, dgx: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    flux = tmp_path / "flux"
    said, here = 'echo "by $*" >&2; exit 1', socket.gethostname()
    flux.write_text(f"#!/bin/sh\n[ $1 = hostlist ] && echo {here} a && exit\n{said}\n")
    flux.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("FLUX_URI", f"local://{tmp_path}")
    told = describe(dgx, [here, "a"], None)
    assert told[here] == dgx
    assert str(told["a"]).startswith(f"by exec --noinput --rank=1 {sys.executable} -c ")


@pytest.mark.parametrize("host", ["-oProxyCommand=id", "/evil/x.sh", "a\n"])
def test_what_is_no_host_name_is_never_called(tmp_path: Path, dgx: Machine, host: str) -> None:
    ran, shell = tmp_path / "ran", tmp_path / "shell"
    shell.write_text(f"#!/bin/sh\ntouch {ran}\n")
    shell.chmod(0o755)
    with pytest.raises(UserError, match="is not a host name"):
        describe(dgx, ["localhost", host], str(shell))
    assert not ran.exists()
