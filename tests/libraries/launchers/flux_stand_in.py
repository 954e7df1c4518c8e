# Written by hand after flux-run(1), flux-hostlist(1), flux-submit(1) and RFC 34 of the Flux
# framework: no Flux was run. A stand-in for `flux`: one instance, whose nodes are all here.
# SPDX-License-Identifier: Apache-2.0
"""Each task is told its node in STAND_IN_HOST. STAND_IN_HOSTS: the instance, by broker rank."""

import argparse
import json
import os
import subprocess
import sys

instance = os.environ["STAND_IN_HOSTS"].split()
if sys.argv[1:2] == ["hostlist"]:
    assert sys.argv[2:] == ["--expand", "instance"]
    print(*instance)
    sys.exit()
assert sys.argv[1] == "run"
parser = argparse.ArgumentParser()
parser.add_argument("--nodes", type=int, required=True)
parser.add_argument("--tasks-per-node", type=int, required=True)
parser.add_argument("--exclusive", action="store_true", required=True)
parser.add_argument("--requires", required=True)
parser.add_argument("--taskmap", default="block")
parser.add_argument("--setopt", action="append")
parser.add_argument("command", nargs=argparse.REMAINDER)
given = parser.parse_args(sys.argv[2:])

wanted = given.requires.removeprefix("hosts:").split(",")
nodes = [host for host in instance if host in wanted]
if len(nodes) < given.nodes:
    sys.exit("flux-run: ERROR: unsatisfiable request")
raw = [node for node in range(given.nodes) for _ in range(given.tasks_per_node)]
scheme, _, taskmap = given.taskmap.partition(":")
if scheme == "manual":
    mapped = [
        node
        for first, count, per_node, repeat in json.loads(taskmap)
        for _ in range(repeat)
        for node in range(first, first + count)
        for _ in range(per_node)
    ]
    if sorted(mapped) != raw:
        sys.exit("flux-run: ERROR: taskmap has another number of tasks on a node")
    raw = mapped
print("shell options:", *given.setopt)
for rank, node in enumerate(raw):
    told = {"FLUX_TASK_RANK": str(rank), "STAND_IN_HOST": nodes[node]}
    subprocess.run(given.command, env={**os.environ, **told}, check=True)
