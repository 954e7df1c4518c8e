# SPDX-License-Identifier: Apache-2.0
"""The cluster itself: nodes that are hosts, and a job that has them."""

from typing import Any


def test_a_job_has_its_nodes(slurm: Any) -> None:
    done = slurm.run(slurm.job(3, ["srun", "--ntasks=3", "--nodes=3", "hostname"]))
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.split()) == list(slurm.hosts.names)
