# SPDX-License-Identifier: Apache-2.0
"""The cluster itself: two nodes that are two hosts, and a job that has both."""

from typing import Any


def test_a_job_has_both_nodes(slurm: Any) -> None:
    done = slurm.run(slurm.job(2, ["srun", "--ntasks=2", "--nodes=2", "hostname"]))
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.split()) == list(slurm.hosts.names)
