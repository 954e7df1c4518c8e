# SPDX-License-Identifier: Apache-2.0
"""The commands, one file each; here, the options that several of them have."""

from typing import Annotated

import typer

Hosts = Annotated[
    str | None, typer.Option(metavar="A,B", help="Measure between two hosts; A is this one.")
]
RemoteShell = Annotated[
    str | None,
    typer.Option(metavar="PROGRAM", help="Called as PROGRAM HOST COMMAND. Default: ssh."),
]
