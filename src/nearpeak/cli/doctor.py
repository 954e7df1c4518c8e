# SPDX-License-Identifier: Apache-2.0
"""`nearpeak doctor`: what on this machine will spoil a measurement."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from nearpeak.cli import print_hosts, print_json

if TYPE_CHECKING:
    from nearpeak.machine.machine import Diagnosis

SCHEMA = 1
STYLES = {"bad": "bold red", "warn": "yellow", "ok": "green"}


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(name="doctor")(doctor)


def doctor(
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    ranks: Annotated[int, typer.Option(min=1, help="Ranks that will run on this host.")] = 2,
) -> None:
    """Show what on this machine will spoil a measurement, and what to do about it.

    In a job of several nodes, what on any of them will, and in what they differ.

    Exit status: 0 if nothing is bad, 1 otherwise.

    Examples: nearpeak doctor | nearpeak doctor --ranks 4 | nearpeak doctor --json
    """
    import msgspec

    from nearpeak.launching.hosts import describe, differences
    from nearpeak.machine.discover import discover
    from nearpeak.machine.doctor import examine
    from nearpeak.study.paths import hosts_of_job

    here = discover()
    here = msgspec.structs.replace(here, diagnoses=examine(ranks=ranks, machine=here))
    told = describe(here, hosts_of_job(), None, ranks)
    unknown = {host: other for host, other in told.items() if isinstance(other, str)}
    known = {host: other for host, other in told.items() if not isinstance(other, str)}
    differ = {host: [*differences(here, other)] for host, other in known.items()}
    if json:
        whole = {"schema": SCHEMA, "ranks": ranks, "findings": here.diagnoses}
        if told:
            whole["nodes"] = {host: other.diagnoses for host, other in known.items()}
            whole["differ"] = {host: lines for host, lines in differ.items() if lines}
            whole["unknown"] = unknown
        print_json(whole)
    else:
        _show({host: other.diagnoses for host, other in known.items()} or {"": here.diagnoses})
        print_hosts(differ, unknown)
    found = [here, *known.values()]
    bad = any(finding.severity == "bad" for one in found for finding in one.diagnoses)
    if bad or unknown:
        raise typer.Exit(1)


def _show(findings: "Mapping[str, Sequence[Diagnosis]]") -> None:
    """What was found on each host: in one line what all have, else whose it is."""
    from rich.table import Table
    from rich.text import Text

    from nearpeak.console import PlainConsole, harmless
    from nearpeak.numbers import in_short

    having: dict[tuple[str, str, str, str], list[str]] = {}
    for host, found in findings.items():
        for one in found:
            having.setdefault((one.id, one.severity, one.message, one.hint), []).append(host)
    order = {key[0]: number for number, key in reversed([*enumerate(having)])}
    table = Table(box=None, show_header=False, pad_edge=False)
    for key in sorted(having, key=lambda key: order[key[0]]):
        name, severity, message, hint = key
        hosts = having[key]
        whose = "" if len(hosts) == len(findings) else f"{in_short(hosts)}: "
        said = Text(harmless(f"{whose}{message}"))
        if hint:
            said.append(harmless(f"\n-> {hint}"), style="dim")
        table.add_row(Text(severity, style=STYLES[severity]), name, said)
    PlainConsole().print(table)
