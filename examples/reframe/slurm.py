# SPDX-License-Identifier: Apache-2.0
"""ReFrame's settings for a cluster under Slurm, started on its login node."""

site_configuration = {
    "systems": [
        {
            "name": "cluster",
            "hostnames": [".*"],
            "partitions": [
                {
                    "name": "nodes",
                    "scheduler": "squeue",  # "slurm" where sacct knows of jobs that have ended
                    "launcher": "local",  # nearpeak starts the ranks of its launches itself
                    "access": ["--partition=nodes"],  # and, as the site needs it, --account=...
                    "environs": ["builtin"],
                }
            ],
        }
    ],
}
