# SPDX-License-Identifier: Apache-2.0
"""Which way bytes went, by the counters of interfaces: between two hosts, and inside one."""

import sys
from pathlib import Path
from typing import Any

import pytest
from mpi_launches import LIMIT

from nearpeak.errors import UserError
from nearpeak.results.build import from_json
from nearpeak.results.results import Results

netns_hosts = sys.modules["netns_hosts"]  # loaded by tests/conftest.py
NEARPEAK = str(Path(sys.executable).with_name("nearpeak"))
STUDY = 'benchmarks = ["bw"]\nsizes = "1M"\nslot_ms = 5\nlaunches = 2\nseed = 1\nwindow = 4\n'


@pytest.fixture(autouse=True)
def _built() -> None:
    """The programs that studies start."""
    from nearpeak.libraries.build import build_mpi, build_native
    from nearpeak.libraries.discover import resolve

    try:
        build_mpi(resolve("mpich"))
    except UserError as error:
        pytest.skip(f"mpich is not there: {error}")
    build_native()


def studied(hosts: Any, folder: Path, text: str, *options: str) -> Results:
    """The results of a study that is started on the first host."""
    file = folder / "study.toml"
    file.write_text(STUDY + text)
    command = [NEARPEAK, "study", str(file), *options, "-o", str(folder / "study")]
    done = hosts.run(command, timeout=LIMIT)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    return from_json((folder / "study" / "results.json").read_text())


def wrong_paths(results: Results) -> list[tuple[str, str]]:
    """The settings and the path of each finding of the rule."""
    return [
        (finding.who.settings, finding.place.path)
        for finding in results.findings
        if finding.kind == "wrong_path" and finding.who and finding.place
    ]


def test_tcp_between_hosts_is_counted_on_their_interfaces(two_hosts: Any, tmp_path: Path) -> None:
    hosts = ["--hosts", ",".join(two_hosts.names), "--remote-shell", two_hosts.remote_shell]
    results = studied(two_hosts, tmp_path, 'mpi = ["mpich"]\n', *hosts)
    assert results.counting is not None
    interfaces = {(link.host, link.name) for link in results.counting.links}
    assert {(name, netns_hosts.INTERFACE) for name in two_hosts.names} <= interfaces
    (cell,) = results.cells
    assert cell.counted is not None
    assert cell.counted.payload_bytes is not None
    assert 1 <= cell.counted.times["network"] < 1.7
    assert cell.counted.times["loopback"] < 0.5
    on = {(link.host, link.name): link for link in cell.counted.links}
    sender, receiver = (on[name, netns_hosts.INTERFACE] for name in two_hosts.names)
    assert sender.sent_bytes >= cell.counted.payload_bytes
    assert receiver.received_bytes >= cell.counted.payload_bytes
    assert receiver.sent_bytes < cell.counted.payload_bytes / 2
    assert wrong_paths(results) == []


def test_messages_that_are_forced_onto_loopback_are_on_a_wrong_path(
    two_hosts: Any, tmp_path: Path
) -> None:
    env = 'MPIR_CVAR_NOLOCAL = "1", UCX_TLS = "tcp,self", FI_PROVIDER = "tcp"'
    libraries = (
        '[[library]]\nmpi = "mpich"\n[[library.settings]]\nname = "default"\n'
        f'[[library.settings]]\nname = "tcp"\nenv = {{ {env} }}\n'
    )
    results = studied(two_hosts, tmp_path, 'paths = ["host-host same-numa"]\n' + libraries)
    times = {cell.who.settings: cell.counted.times for cell in results.cells if cell.counted}
    assert times["tcp"]["loopback"] >= 1
    assert times["default"]["loopback"] < 0.1
    assert wrong_paths(results) == [("tcp", "host-host same-numa")]
