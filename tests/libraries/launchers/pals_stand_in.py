# Written by hand after lines that sites and Dragon's documentation give for the mpiexec of PALS: no
# PALS was run. A stand-in for it, all of whose nodes are here.
# SPDX-License-Identifier: Apache-2.0
"""Each task is told its node in STAND_IN_HOST."""

import argparse
import os
import subprocess
import sys

if sys.argv[1:] == ["--version"]:
    print("mpiexec version 1.8.0 revision 0")
    sys.exit()
parser = argparse.ArgumentParser()
parser.add_argument("-n", type=int, required=True)
parser.add_argument("--ppn", type=int, required=True)
parser.add_argument("--hosts", required=True)
parser.add_argument("--cpu-bind", choices=["none"], required=True)
parser.add_argument("command", nargs=argparse.REMAINDER)
given = parser.parse_args()

for rank in range(given.n):
    host = given.hosts.split(",")[rank // given.ppn]
    told = {"PALS_RANKID": str(rank), "STAND_IN_HOST": host}
    subprocess.run(given.command, env={**os.environ, **told}, check=True)
