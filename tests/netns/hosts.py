# SPDX-License-Identifier: Apache-2.0
"""Test hosts on one machine: namespaces joined by a bridge, each with its own hostname, or by two
bridges with an uplink between.

They share the file system, as nodes of a cluster share a home folder, but not the network, the
host name, the id of the boot, System V and POSIX shared memory (/dev/shm), so that MPI sees several
nodes. Everything lives in namespaces held open by one process a host, and one for the bridge; they
vanish with it, whatever ends it.
"""

import contextlib
import os
import shlex
import signal
import subprocess
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

NAMES = ("nearpeak-a", "nearpeak-b", "nearpeak-c", "nearpeak-d", "nearpeak-e", "nearpeak-f")
NETWORK = "10.213.7"  # the first three bytes of the addresses
SWITCH = "nearpeak-switch"
INTERFACE = "veth0"  # the same name on all hosts
UPLINK = "uplink1"  # of the second bridge

# Run in a host's namespaces before it is used; says "ready", then waits for its input to end.
SETUP = """
set -e
hostname "$1"
mount --bind "$2" /etc/hosts
mount --bind "$3" /proc/sys/kernel/random/boot_id
mount -t tmpfs -o size=4g tmpfs /dev/shm
mount -t sysfs sysfs /sys
ip link set lo up
echo ready
exec cat
"""

# The kernel reports a new link as up only after a while, and UCX leaves out one that is down.
LINK_IS_UP = f"until grep -q up /sys/class/net/{INTERFACE}/operstate; do sleep 0.05; done"


class CannotMakeHosts(Exception):
    """The machine forbids namespaces or lacks a tool; the message says which."""


@dataclass(frozen=True)
class Hosts:
    """Hosts that reach each other over TCP alone."""

    names: tuple[str, ...]
    addresses: tuple[str, ...]
    remote_shell: str  # program called as `SHELL HOST COMMAND...`, HOST a name or an address
    holders: tuple[int, ...]  # process ids
    user_namespace: bool
    switch: int  # process id
    leaves: tuple[int, ...]  # of each host, the bridge that it is joined to

    def on(self, host: int, argv: Sequence[str]) -> list[str]:
        """The command line that runs `argv` on a host, of which the first one is 0."""
        return [*enter(self.holders[host], self.user_namespace), *argv]

    def run(
        self, argv: Sequence[str], *, host: int = 0, timeout: float = 120, **options: object
    ) -> "subprocess.CompletedProcess[str]":
        """Runs `argv` on a host (the first one: where a study runs) and returns its output."""
        return subprocess.run(
            self.on(host, argv),
            capture_output=True,
            text=True,
            check=False,
            timeout=timeout,
            stdin=subprocess.DEVNULL,
            **options,  # type: ignore[call-overload]
        )

    @contextlib.contextmanager
    def slowed(self, rate: str, *, host: int | None = None) -> Iterator[bool]:
        """Limits what a host sends, or what goes up from the second bridge, for as long as the
        block lasts; false where the kernel cannot."""
        where, interface = (
            (self.switch, UPLINK) if host is None else (self.holders[host], INTERFACE)
        )
        at = ["tc", "qdisc"], ["dev", interface, "root"]
        limit = ["tbf", "rate", rate, "burst", "64k", "latency", "200ms"]
        here = enter(where, self.user_namespace)
        done = subprocess.run([*here, *at[0], "add", *at[1], *limit], check=False)
        try:
            yield done.returncode == 0
        finally:
            subprocess.run([*here, *at[0], "del", *at[1]], check=False)

    def processes(self, host: int) -> dict[int, str]:
        """The lines of the processes that run on a host, by their ids."""
        found = processes_of(self.holders[host])
        del found[self.holders[host]]
        return found

    def bytes_sent(self, host: int = 0, interface: str = INTERFACE) -> int:
        """Bytes that left a host over an interface so far."""
        counters = self.run(["cat", "/proc/net/dev"], host=host).stdout
        line = next(x for x in counters.splitlines() if x.strip().startswith(f"{interface}:"))
        return int(line.split(":")[1].split()[8])


def enter(pid: int, user_namespace: bool) -> list[str]:
    """The nsenter command that joins the namespaces of process `pid`, in this folder."""
    user = ["--user", "--preserve-credentials"] if user_namespace else []
    spaces = ["--mount", "--uts", "--ipc", "--net"]
    return ["nsenter", "--target", str(pid), *user, *spaces, f"--wd={Path.cwd()}", "--"]


def start_holder(name: str, hosts_file: Path, join: list[str]) -> "subprocess.Popen[str]":
    """Starts the process that holds a host's namespaces open for as long as its input is."""
    boot_file = hosts_file.with_name(f"boot-{name}")
    boot_file.write_text(f"{uuid.uuid4()}\n")
    command = [
        *join,
        *["unshare", "--net", "--uts", "--ipc", "--mount"],
        *["sh", "-c", SETUP, "sh", name, str(hosts_file), str(boot_file)],
    ]
    holder = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None
    assert holder.stderr is not None
    if holder.stdout.readline() != "ready\n":
        holder.kill()
        reason = holder.stderr.read().strip().splitlines() or ["no reason given"]
        raise CannotMakeHosts(f"cannot make the namespaces of a test host: {reason[-1]}")
    return holder


def processes_of(holder: int) -> dict[int, str]:
    """The processes in a host's network namespace, its holder among them, and their lines."""
    space = Path(f"/proc/{holder}/ns/net").readlink()
    found: dict[int, str] = {}
    if space == Path("/proc/self/ns/net").readlink():
        return found  # not a test host: everything on this machine is in here
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):  # gone, or not ours
                if (entry / "ns/net").readlink() == space:
                    line = (entry / "cmdline").read_bytes().replace(b"\0", b" ")
                    found[int(entry.name)] = line.decode(errors="replace")
    return found


def end_processes_of(holder: int) -> None:
    """Ends every process in a host's network namespace: daemons that a crashed test left."""
    for pid in processes_of(holder):
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)


def command(argv: list[str]) -> None:
    """Runs one step of the set-up; what fails is the reason why there are no hosts."""
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode:
        raise CannotMakeHosts(f"{shlex.join(argv)}: {done.stderr.strip()}")


@contextlib.contextmanager
def made(folder: Path, number: int = 2, bridges: int = 1) -> Iterator[Hosts]:
    """So many hosts for as long as the block lasts; `folder` takes their hosts file and shell. The
    first hosts are on the first of one or two bridges.

    Raises CannotMakeHosts where the machine does not allow it.
    """
    names = NAMES[:number]
    leaves = tuple(host * bridges // number for host in range(number))
    addresses = tuple(f"{NETWORK}.{host + 1}" for host in range(number))
    hosts_file = folder / "hosts"
    hosts_file.write_text(
        "127.0.0.1 localhost\n"
        + "".join(f"{a} {n}\n" for a, n in zip(addresses, names, strict=True))
    )
    user = os.geteuid() != 0
    holders: list[subprocess.Popen[str]] = []
    try:
        # Without root, one user namespace owns all hosts: the first makes it, the others join.
        join = ["unshare", "--user", "--map-root-user"] if user else []
        holders.append(start_holder(SWITCH, hosts_file, join))
        switch = holders[0].pid
        if user:
            join = ["nsenter", "--target", str(switch), "--user", "--preserve-credentials"]
        at_switch = enter(switch, user)
        for bridge in range(bridges):
            command([*at_switch, "ip", "link", "add", f"bridge{bridge}", "type", "bridge"])
            command([*at_switch, "ip", "link", "set", f"bridge{bridge}", "up"])
        if bridges > 1:
            pair = ["uplink0", "type", "veth", "peer", "name", UPLINK]
            command([*at_switch, "ip", "link", "add", *pair])
            for bridge, end in enumerate(("uplink0", UPLINK)):
                master = ["master", f"bridge{bridge}", "up"]
                command([*at_switch, "ip", "link", "set", end, *master])
        for number, (name, address) in enumerate(zip(names, addresses, strict=True)):
            holders.append(start_holder(name, hosts_file, join))
            pid = holders[-1].pid
            here, port = enter(pid, user), f"port{number}"
            pair = ["type", "veth", "peer", "name", INTERFACE, "netns", str(pid)]
            command([*at_switch, "ip", "link", "add", port, *pair])
            master = ["master", f"bridge{leaves[number]}", "up"]
            command([*at_switch, "ip", "link", "set", port, *master])
            command([*here, "ip", "address", "add", f"{address}/24", "dev", INTERFACE])
            command([*here, "ip", "link", "set", INTERFACE, "up"])
        pids = tuple(holder.pid for holder in holders[1:])
        for pid in pids:
            command([*enter(pid, user), "timeout", "10", "sh", "-c", LINK_IS_UP])
        shell = folder / "remote-shell"
        named = zip(names, addresses, strict=True)
        shell.write_text(remote_shell_script(dict(zip(pids, named, strict=True))))
        shell.chmod(0o755)
        yield Hosts(names, addresses, str(shell), pids, user, switch, leaves)
    except FileNotFoundError as error:
        raise CannotMakeHosts(f"{error.filename} is not installed") from error
    finally:
        for holder in holders:
            with contextlib.suppress(OSError):
                end_processes_of(holder.pid)
            holder.communicate()  # also closes the pipes


def remote_shell_script(hosts: Mapping[int, tuple[str, str]]) -> str:
    """A shell script called like ssh: `SCRIPT HOST COMMAND...`, the command joined by spaces.
    `hosts`: by the process that holds one, its name and address.

    It is called on a test host, thus already in their user namespace where there is one. As ssh, it
    hands on no variable of its caller: a command has those of the process that made the hosts, as
    if files that the host's shells read had set them.
    """
    own = shlex.join(f"{name}={value}" for name, value in os.environ.items())
    cases = "".join(
        f'  {name}|{address}) set -- {shlex.join(enter(pid, False))} sh -c "$command" ;;\n'
        for pid, (name, address) in hosts.items()
    )
    return (
        "#!/bin/sh\n"
        'host=$1; shift; command="$*"\n'
        'case "$host" in\n'
        f"{cases}"
        '  *) echo "no such host: $host" >&2; exit 255 ;;\n'
        "esac\n"
        f'exec env --ignore-environment {own} "$@"\n'
    )
