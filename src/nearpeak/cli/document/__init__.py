# SPDX-License-Identifier: Apache-2.0
"""The pages of docs/reference, made of the code."""

from collections.abc import Callable

from nearpeak.cli.document import commands, csv, environment, settings, statuses, tunables

PAGES: dict[str, Callable[[], str]] = {
    "commands": commands.page,
    "csv": csv.page,
    "environment": environment.page,
    "exit-statuses": statuses.page,
    "settings": settings.page,
    "tunables": tunables.page,
}
