# SPDX-License-Identifier: Apache-2.0
"""ReFrame's settings for the machine that it runs on."""

site_configuration = {
    "systems": [
        {
            "name": "here",
            "hostnames": [".*"],
            "partitions": [
                {"name": "node", "scheduler": "local", "launcher": "local", "environs": ["builtin"]}
            ],
        }
    ],
}
