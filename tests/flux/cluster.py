# SPDX-License-Identifier: Apache-2.0
"""A real Flux on test hosts of tests/netns/hosts.py: a broker on each of them.

The brokers are children of this process with files and ports of their own; no service of the
machine is used or changed.
"""

import contextlib
import os
import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

NOT_INSTALLED = "Flux is not installed"
START_SECONDS = 300.0
END_SECONDS = 60.0
PORT = 16819

CONFIGURATION = """\
[bootstrap]
curve_cert = "{folder}/curve.cert"
hosts = [
{hosts}]
"""
HOST = '  {{ host = "{name}", bind = "tcp://*:{port}", connect = "tcp://{address}:{port}" }},\n'


class CannotMakeCluster(Exception):
    """Flux is not installed or does not start; the message says which and why."""


@dataclass(frozen=True)
class Cluster:
    """An instance of Flux. The first of its hosts is also where its users are logged in."""

    hosts: Any  # Hosts
    folder: Path
    brokers: list["subprocess.Popen[bytes]"]

    @property
    def environment(self) -> dict[str, str]:
        """That of a user who is logged in."""
        inherited = {name: os.environ[name] for name in os.environ if not name.startswith("FLUX_")}
        return {**inherited, "FLUX_URI": f"local://{self.folder}/run-0/local-0"}

    def run(
        self, argv: Sequence[str], *, timeout: float = 60, **more: str
    ) -> "subprocess.CompletedProcess[str]":
        """Runs `argv` where users are logged in, with more variables."""
        done: subprocess.CompletedProcess[str] = self.hosts.run(
            argv, timeout=timeout, env={**self.environment, **more}
        )
        return done

    def job(self, nodes: int, argv: Sequence[str], *options: str) -> list[str]:
        """The command that runs `argv` on the first host, in a job of so many whole nodes. It is an
        instance of its own, as those of `flux batch` are."""
        asked = [f"--nodes={nodes}", "--exclusive", "--setopt=mpi=none", *options]
        return ["flux", "run", *asked, "flux", "start", *argv]

    def start_all(self) -> None:
        """Starts all brokers, and waits until jobs can run on all. Raises CannotMakeCluster."""
        certificate = str(self.folder / "curve.cert")
        subprocess.run(["flux", "keygen", certificate], check=True, capture_output=True)
        for host, name in enumerate(self.hosts.names):
            run = self.folder / f"run-{host}"
            run.mkdir(mode=0o700)
            words = [f"--config-path={self.folder}/flux.toml", f"--setattr=rundir={run}"]
            waits = ["sleep", "inf"] if host == 0 else []
            environment = {**self.environment, "TMPDIR": str(self.folder)}
            del environment["FLUX_URI"]
            with (self.folder / f"broker-{name}.log").open("wb") as log:
                self.brokers.append(
                    subprocess.Popen(
                        self.hosts.on(host, ["flux", "broker", *words, *waits]),
                        env=environment,
                        stdin=subprocess.DEVNULL,
                        stdout=log,
                        stderr=log,
                    )
                )
        deadline = time.monotonic() + START_SECONDS
        while not self._is_whole():
            ended = [host for host, broker in enumerate(self.brokers) if broker.poll() is not None]
            if ended or time.monotonic() > deadline:
                which = self.hosts.names[(ended or [0])[0]]
                log = self.folder / f"broker-{which}.log"
                said = log.read_text(errors="replace").splitlines()
                raise CannotMakeCluster(f"{which}: {(said or ['it said nothing'])[-1]}")
            time.sleep(0.05)

    def end(self) -> None:
        """Ends all brokers, and what jobs have left."""
        for broker in self.brokers:
            broker.terminate()
        for broker in self.brokers:
            try:
                broker.wait(END_SECONDS)
            except subprocess.TimeoutExpired:
                broker.kill()
                broker.wait()

    def _is_whole(self) -> bool:
        asked = ["flux", "resource", "list", "--states=free", "--no-header", "--format={nnodes}"]
        return self.run(asked).stdout.strip() == str(len(self.hosts.names))


@contextlib.contextmanager
def cluster(hosts: Any, folder: Path) -> Iterator[Cluster]:
    """An instance on these hosts (Hosts) for as long as the block lasts; `folder` takes its files.

    Raises CannotMakeCluster.
    """
    if not shutil.which("flux"):
        raise CannotMakeCluster(NOT_INSTALLED)
    lines = [
        HOST.format(name=name, address=address, port=PORT)
        for name, address in zip(hosts.names, hosts.addresses, strict=True)
    ]
    text = CONFIGURATION.format(folder=folder, hosts="".join(lines))
    (folder / "flux.toml").write_text(text)
    made = Cluster(hosts, folder, [])
    try:
        made.start_all()
        yield made
    finally:
        made.end()
