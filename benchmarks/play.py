# SPDX-License-Identifier: Apache-2.0
"""A Slurm or a Flux of three nodes on this machine, to try things in: those of the tests.

    python benchmarks/play.py                           # a shell, as on a login node of Slurm
    python benchmarks/play.py salloc -N3 --exclusive nearpeak run allreduce --mpi mpich
    python benchmarks/play.py --nodes 4 sh script.sh    # four nodes, six at most
    python benchmarks/play.py --flux flux alloc -N3 --exclusive nearpeak run allreduce --mpi mpich

Slurm needs Debian's packages munge, slurmctld, slurmd, slurm-client and, for srun --mpi=pmix,
libpmix-dev; Flux needs `flux` on PATH and, for Open MPI, its plug-in for PMIx. No service of the
machine is used. The nodes share its CPUs, so no figure means much.
"""

import argparse
import importlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

TESTS = Path(__file__).parents[1] / "tests"


def main() -> int:
    """Runs the command as on the first node; its exit status."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--nodes", type=int, default=3, choices=range(1, 7))
    parser.add_argument("--flux", action="store_true")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    given = parser.parse_args()
    manager = "flux" if given.flux else "slurm"
    sys.path[:0] = [str(TESTS / "netns"), str(TESTS / manager)]
    netns, clusters = map(importlib.import_module, ("hosts", "cluster"))
    argv = given.command or [os.environ.get("SHELL", "/bin/sh")]
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    with tempfile.TemporaryDirectory(prefix=f"nearpeak-{manager}-") as folder:
        try:
            with (
                netns.made(Path(folder), given.nodes) as hosts,
                clusters.cluster(hosts, Path(folder)) as cluster,
            ):
                environment = {**cluster.environment, "PATH": path}
                return subprocess.run(hosts.on(0, argv), env=environment, check=False).returncode
        except (netns.CannotMakeHosts, clusters.CannotMakeCluster) as error:
            sys.exit(str(error))


if __name__ == "__main__":
    sys.exit(main())
