# SPDX-License-Identifier: Apache-2.0
"""A real Slurm on test hosts of tests/netns/hosts.py: each of them is a node.

Its daemons are children of this process with files, keys and ports of their own; no service of the
machine is used or changed.
"""

import contextlib
import os
import secrets
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PATH = f"{os.environ['PATH']}:/usr/sbin"
PROGRAMS = ("munged", "slurmctld", "slurmd", "srun")
NOT_INSTALLED = "Slurm is not installed"
START_SECONDS = 300.0
END_SECONDS = 60.0

# Jobs begin at once, where Slurm would wait for more to come.
# Without cgroups, tasks of the kernel's or accounting: a container allows as much.
CONFIGURATION = """\
ClusterName=nearpeak-test
SlurmctldHost={names[0]}({addresses[0]})
SlurmctldPort=16817
SlurmdPort=16818
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
TmpFS={folder}/tmp-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=batch_sched_delay=0,sched_min_interval=0,bf_interval=1
ReturnToService=2
KillWait=2
MailProg=/bin/true
PartitionName=nodes Nodes=ALL Default=YES MaxTime=60
"""
TOPOLOGY = "TopologyPlugin=topology/tree\n"
LEAF, SPINE = "SwitchName=leaf{leaf} Nodes={nodes}\n", "SwitchName=spine Switches=leaf[0-{last}]\n"
NODE = "NodeName={name} NodeAddr={address} CPUs={cpus}\n"


class CannotMakeCluster(Exception):
    """Slurm is not installed or does not start; the message says which and why."""


@dataclass(frozen=True)
class Cluster:
    """A cluster. The first of its nodes is also where its users are logged in."""

    hosts: Any  # Hosts
    folder: Path
    daemons: dict[str, "subprocess.Popen[bytes]"]  # by name, also of their logs

    @property
    def environment(self) -> dict[str, str]:
        """That of a user who is logged in."""
        inherited = {name: os.environ[name] for name in os.environ if not name.startswith("SLURM")}
        return {**inherited, "SLURM_CONF": str(self.folder / "slurm.conf")}

    def run(
        self, argv: Sequence[str], *, timeout: float = 60, **more: str
    ) -> "subprocess.CompletedProcess[str]":
        """Runs `argv` where users are logged in, with more variables."""
        done: subprocess.CompletedProcess[str] = self.hosts.run(
            argv, timeout=timeout, env={**self.environment, **more}
        )
        return done

    def start(self, argv: Sequence[str], log: Path) -> "subprocess.Popen[bytes]":
        """Starts `argv` where users are logged in."""
        with log.open("wb") as output:
            return subprocess.Popen(
                self.hosts.on(0, argv),
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
            )

    def job(self, nodes: int, argv: Sequence[str]) -> list[str]:
        """The command that runs `argv` on the first host, in a job of so many whole nodes.

        salloc runs it where it was called, so the job has to have that host, and to wait for it
        where the job before still completes there.
        """
        asked = [f"--nodes={nodes}", f"--nodelist={self.hosts.names[0]}", "--exclusive"]
        return ["salloc", "--quiet", *asked, "--time=5", *argv]

    def start_node(self, host: int) -> None:
        """Starts the daemon of a node, and waits until jobs can run on all."""
        name = self.hosts.names[host]
        self._start(f"slurmd-{name}", host, "slurmd", "-D", "-N", name)
        self._wait(self._is_idle, f"slurmd-{name}")

    def start_all(self) -> None:
        """Starts all daemons. Raises CannotMakeCluster."""
        files = {
            "key-file": self.folder / "munge.key",
            "socket": self.folder / "munge.socket",
            "pid-file": self.folder / "munged.pid",
            "log-file": self.folder / "munged-own.log",
            "seed-file": self.folder / "munged.seed",
        }
        files["key-file"].touch(0o600)
        files["key-file"].write_bytes(secrets.token_bytes(128))
        words = [f"--{name}={file}" for name, file in files.items()]
        self._start("munged", 0, "munged", "--foreground", "--force", *words)
        self._wait(files["socket"].exists, "munged")
        self._start("slurmctld", 0, "slurmctld", "-D")
        for host, name in enumerate(self.hosts.names):
            self._start(f"slurmd-{name}", host, "slurmd", "-D", "-N", name)
        self._wait(self._is_idle, "slurmctld")

    def end(self) -> None:
        """Ends all daemons, and what jobs have left."""
        if "slurmctld" in self.daemons and self.daemons["slurmctld"].poll() is None:
            self.run(["scancel", "--user=root"], timeout=END_SECONDS)
        for daemon in reversed(self.daemons.values()):
            daemon.terminate()
        for daemon in self.daemons.values():
            try:
                daemon.wait(END_SECONDS)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()

    def _start(self, name: str, host: int, *argv: str) -> None:
        with (self.folder / f"{name}.log").open("ab") as log:
            self.daemons[name] = subprocess.Popen(
                self.hosts.on(host, argv),
                env={**self.environment, "PATH": PATH},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def _is_idle(self) -> bool:
        told = self.run(["sinfo", "--noheader", "--Node", "--format=%T"])
        return told.stdout.split() == ["idle"] * len(self.hosts.names)

    def _wait(self, there: Callable[[], bool], name: str) -> None:
        deadline = time.monotonic() + START_SECONDS
        while not there():
            ended = [name for name, daemon in self.daemons.items() if daemon.poll() is not None]
            if ended or time.monotonic() > deadline:
                which = (ended or [name])[0]
                said = (self.folder / f"{which}.log").read_text(errors="replace").splitlines()
                raise CannotMakeCluster(f"{which}: {(said or ['it said nothing'])[-1]}")
            time.sleep(0.05)


def topology(names: Sequence[str], leaves: Sequence[int]) -> str:
    """The switches of these hosts, as topology.conf has them."""
    lines = []
    for leaf in sorted(set(leaves)):
        below = [name for name, of in zip(names, leaves, strict=True) if of == leaf]
        lines.append(LEAF.format(leaf=leaf, nodes=",".join(below)))
    return "".join([*lines, SPINE.format(last=max(leaves))])


@contextlib.contextmanager
def cluster(hosts: Any, folder: Path) -> Iterator[Cluster]:
    """A cluster on these hosts (Hosts) for as long as the block lasts; `folder` takes its files.

    Raises CannotMakeCluster.
    """
    if not all(shutil.which(program, path=PATH) for program in PROGRAMS):
        raise CannotMakeCluster(NOT_INSTALLED)
    # Nodes stand before the partition of all of them.
    nodes = [
        NODE.format(name=name, address=address, cpus=os.cpu_count())
        for name, address in zip(hosts.names, hosts.addresses, strict=True)
    ]
    rest = CONFIGURATION.format(names=hosts.names, addresses=hosts.addresses, folder=folder)
    if any(hosts.leaves):
        (folder / "topology.conf").write_text(topology(hosts.names, hosts.leaves))
        rest += TOPOLOGY
    (folder / "slurm.conf").write_text("".join(nodes) + rest)
    # "autodetect" ends where /sys/fs/cgroup is not mounted, as on the test hosts.
    (folder / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n")
    for name in ("state", *(f"{kind}-{host}" for kind in ("spool", "tmp") for host in hosts.names)):
        (folder / name).mkdir()
    made = Cluster(hosts, folder, {})
    try:
        made.start_all()
        yield made
    finally:
        made.end()
