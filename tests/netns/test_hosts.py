# SPDX-License-Identifier: Apache-2.0
"""The test hosts themselves: names, network, remote shell, and that they leave nothing."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from mpi_launches import LIMIT

netns_hosts = sys.modules["netns_hosts"]  # loaded by tests/conftest.py


def test_each_has_its_own_name(two_hosts: Any) -> None:
    for host, name in enumerate(two_hosts.names):
        assert two_hosts.run(["hostname"], host=host).stdout.strip() == name


def test_each_was_booted_by_itself(two_hosts: Any) -> None:
    file = Path("/proc/sys/kernel/random/boot_id")
    boots = {two_hosts.run(["cat", str(file)], host=host).stdout for host in (0, 1)}
    assert len({*boots, file.read_text()}) == 3


def test_each_of_three_reaches_the_others(three_hosts: Any) -> None:
    for host, name in enumerate(three_hosts.names):
        for other in three_hosts.names:
            done = three_hosts.run([three_hosts.remote_shell, other, "hostname"], host=host)
            assert done.stdout.strip() == other
        assert three_hosts.run(["hostname"], host=host).stdout.strip() == name


def test_they_reach_each_other(two_hosts: Any) -> None:
    code = (
        "import socket; s = socket.create_server(('', 0)); print(s.getsockname()[1], flush=True);"
        "s.accept()[0].sendall(b'x' * 100000)"
    )
    server = subprocess.Popen(
        two_hosts.on(1, [sys.executable, "-c", code]), stdout=subprocess.PIPE, text=True
    )
    assert server.stdout is not None
    port = server.stdout.readline().strip()
    before = two_hosts.bytes_sent(host=1)
    client = (
        f"import socket; s = socket.create_connection(({two_hosts.names[1]!r}, {port}));"
        "print(sum(len(x) for x in iter(lambda: s.recv(65536), b'')))"
    )
    assert two_hosts.run([sys.executable, "-c", client]).stdout == "100000\n"
    server.communicate(timeout=LIMIT)
    assert two_hosts.bytes_sent(host=1) - before >= 100000


@pytest.mark.parametrize("by", ["names", "addresses"])
def test_remote_shell_is_called_like_ssh(two_hosts: Any, by: str) -> None:
    host = getattr(two_hosts, by)[1]
    done = two_hosts.run([two_hosts.remote_shell, host, "X='a  b'; echo $(hostname) \"$X\"", "c"])
    assert done.stdout == f"{two_hosts.names[1]} a  b c\n"


def test_remote_shell_refuses_an_unknown_host(two_hosts: Any) -> None:
    done = two_hosts.run([two_hosts.remote_shell, "nowhere", "true"])
    assert done.returncode == 255
    assert "nowhere" in done.stderr


def test_nothing_is_left_behind(tmp_path: Path) -> None:
    try:
        with netns_hosts.made(tmp_path, 3) as hosts:
            command = hosts.on(1, ["sh", "-c", "echo begun; exec sleep 1000"])
            daemon = subprocess.Popen(command, stdout=subprocess.PIPE)
            assert daemon.stdout is not None
            assert daemon.stdout.readline() == b"begun\n"  # it is on that host by now
            holders = hosts.holders
    except netns_hosts.CannotMakeHosts as error:
        pytest.skip(f"no test hosts: {error}")
    assert daemon.wait(timeout=LIMIT) == -9
    assert not any(Path(f"/proc/{pid}").exists() for pid in holders)
