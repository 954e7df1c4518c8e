# SPDX-License-Identifier: Apache-2.0
"""`nearpeak nodes` on real GPUs of one machine, whose two halves are namespaces with a host name of
their own: `python tests/nodes/on_gpus.py [--shared] [--mpi LIBRARY] [OPTIONS OF nearpeak nodes]`.

The first node takes GPU 0 and the second one GPU 1, over TCP. With --shared both take both, in
turn, so that there are two rails and pairs within nodes. It takes root or user namespaces.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "netns"))

import hosts as netns

VISIBLE = "CUDA_VISIBLE_DEVICES"


def program() -> list[str]:
    """Returns the command, on the fake driver if that is chosen."""
    if "NEARPEAK_FAKE_CUDA" in os.environ:
        return [sys.executable, str(Path(__file__).with_name("on_fake_gpus.py"))]
    return [str(Path(sys.executable).with_name("nearpeak"))]


def main() -> int:
    """Returns the exit status of the command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--shared", action="store_true", help="both nodes take all GPUs")
    parser.add_argument("--mpi", default="mpich+layer", help="the library")
    parser.add_argument("--output", default="gpu-nodes", help="the folder, which is new")
    given, more = parser.parse_known_args()
    first = {name: value for name, value in os.environ.items() if name != VISIBLE}
    if not given.shared:
        os.environ[VISIBLE] = "1"  # the second node's ranks have the variables of this process
    with tempfile.TemporaryDirectory() as folder, netns.made(Path(folder), 2) as hosts:
        line = [*program(), "nodes", "--mpi", given.mpi]
        line += ["--hosts", ",".join(hosts.names), "--remote-shell", hosts.remote_shell]
        line += ["--buffers", "D,D", *([] if given.shared else ["--gpus", "0"])]
        line += [*more, "-o", given.output]
        return subprocess.run(hosts.on(0, line), env=first, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
