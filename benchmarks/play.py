# SPDX-License-Identifier: Apache-2.0
"""A Slurm of three nodes on this machine, to try things in: the one of the tests.

    python benchmarks/slurm/play.py                           # a shell, as on a login node
    python benchmarks/slurm/play.py salloc -N3 --exclusive nearpeak run allreduce --mpi mpich
    python benchmarks/slurm/play.py --nodes 4 sh script.sh    # four nodes, six at most

Needs Debian's packages munge, slurmctld, slurmd, slurm-client and, for srun --mpi=pmix,
libpmix-dev; no service of the machine is used. The nodes share its CPUs, so no figure means much.
"""

import argparse
import importlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

TESTS = Path(__file__).parents[2] / "tests"


def main() -> int:
    """Runs the command as on the first node; its exit status."""
    sys.path[:0] = [str(TESTS / "netns"), str(TESTS / "slurm")]
    netns, clusters = map(importlib.import_module, ("hosts", "cluster"))
    parser = argparse.ArgumentParser()
    parser.add_argument("--nodes", type=int, default=3, choices=range(1, len(netns.NAMES) + 1))
    parser.add_argument("command", nargs=argparse.REMAINDER)
    given = parser.parse_args()
    argv = given.command or [os.environ.get("SHELL", "/bin/sh")]
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    with tempfile.TemporaryDirectory(prefix="nearpeak-slurm-") as folder:
        try:
            with (
                netns.made(Path(folder), given.nodes) as hosts,
                clusters.cluster(hosts, Path(folder)) as slurm,
            ):
                environment = {**slurm.environment, "PATH": path}
                return subprocess.run(hosts.on(0, argv), env=environment, check=False).returncode
        except (netns.CannotMakeHosts, clusters.CannotMakeCluster) as error:
            sys.exit(str(error))


if __name__ == "__main__":
    sys.exit(main())
