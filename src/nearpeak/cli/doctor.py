# SPDX-License-Identifier: Apache-2.0
"""`nearpeak doctor`: what on this machine will spoil a measurement."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from nearpeak.cli import print_hosts, print_json
from nearpeak.terms.exit_statuses import sentence

if TYPE_CHECKING:
    from nearpeak.machine.machine import Diagnosis

SCHEMA = 1
STYLES = {"bad": "bold red", "warn": "yellow", "ok": "green"}

HELP = f"""Show what on this machine will spoil a measurement, and what to do about it.

In a job of several nodes, what on any of them will, and in what they differ.

{sentence("doctor", ", ")}

Examples: nearpeak doctor | nearpeak doctor --ranks 4 | nearpeak doctor --json
"""


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("doctor", help=HELP)(doctor)


def doctor(
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    ranks: Annotated[int, typer.Option(min=1, help="Ranks that will run on this host.")] = 2,
) -> None:
    """Prints the diagnoses of all nodes; exits with 1 for a bad one."""
    import msgspec

    from nearpeak.launching.hosts import describe, differences
    from nearpeak.launching.paths import hosts_of_job
    from nearpeak.machine.discover import discover
    from nearpeak.machine.doctor import examine

    this_machine = discover()
    this_machine = msgspec.structs.replace(
        this_machine, diagnoses=examine(ranks=ranks, machine=this_machine)
    )
    answers = describe(this_machine, hosts_of_job(), None, ranks)
    unknown = {host: other for host, other in answers.items() if isinstance(other, str)}
    others = {host: other for host, other in answers.items() if not isinstance(other, str)}
    differ = {host: [*differences(this_machine, other)] for host, other in others.items()}
    if json:
        document = {"schema": SCHEMA, "ranks": ranks, "findings": this_machine.diagnoses}
        if answers:
            document["nodes"] = {host: other.diagnoses for host, other in others.items()}
            document["differ"] = {host: lines for host, lines in differ.items() if lines}
            document["unknown"] = unknown
        print_json(document)
    else:
        _show(
            {host: other.diagnoses for host, other in others.items()}
            or {"": this_machine.diagnoses}
        )
        print_hosts(differ, unknown)
    machines = [this_machine, *others.values()]
    bad = any(finding.severity == "bad" for examined in machines for finding in examined.diagnoses)
    if bad or unknown:
        raise typer.Exit(1)


def _show(findings: "Mapping[str, Sequence[Diagnosis]]") -> None:
    """Prints the diagnoses of all hosts: each once, with its hosts unless all have it."""
    from rich.table import Table
    from rich.text import Text

    from nearpeak.console import PlainConsole, harmless
    from nearpeak.numbers import in_short

    having: dict[tuple[str, str, str, str], list[str]] = {}
    for host, diagnoses in findings.items():
        for diagnosis in diagnoses:
            key = (diagnosis.id, diagnosis.severity, diagnosis.message, diagnosis.hint)
            having.setdefault(key, []).append(host)
    order = {key[0]: number for number, key in reversed([*enumerate(having)])}
    table = Table(box=None, show_header=False, pad_edge=False)
    for key in sorted(having, key=lambda key: order[key[0]]):
        name, severity, message, hint = key
        hosts = having[key]
        whose = "" if len(hosts) == len(findings) else f"{in_short(hosts)}: "
        text = Text(harmless(f"{whose}{message}"))
        if hint:
            text.append(harmless(f"\n-> {hint}"), style="dim")
        table.add_row(Text(severity, style=STYLES[severity]), name, text)
    PlainConsole().print(table)
