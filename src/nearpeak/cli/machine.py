# SPDX-License-Identifier: Apache-2.0
"""`nearpeak machine`: its parts, its data paths, and what on it spoils measurements."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nearpeak.cli import RemoteShell, check_company, print_hosts, print_json
from nearpeak.errors import UserError
from nearpeak.terms.exit_statuses import sentence

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from nearpeak.machine.machine import Diagnosis, Gpu, Machine
    from nearpeak.terms.path import DataPath, NoPath

SCHEMA = 1
LOCAL_ROWS = 8  # more local paths than these are counted, not listed
RANKS = 2  # that a check assumes on a host
STYLES = {"bad": "bold red", "warn": "yellow", "ok": "green"}

HELP = f"""Show this machine and its data paths, or what spoils measurements.

It says, too, why other data paths are not available, and in what the nodes of
a job differ.

--check lists what will spoil a measurement, and what to do about it. In a
job of several nodes it checks every node.

{sentence("machine")}

Examples:

  nearpeak machine

  nearpeak machine --check

  nearpeak machine --check --ranks 4

  nearpeak machine --check --copies

  nearpeak machine --json

  nearpeak machine --all-pairs

  nearpeak machine --hosts node1,node2

  nearpeak machine --record my-machine.txt

  nearpeak machine --picture my-machine.svg
"""


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("machine", help=HELP)(machine)


def machine(
    context: typer.Context,
    check: Annotated[
        bool, typer.Option("--check", help="Show what will spoil a measurement, instead.")
    ] = False,
    ranks: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            help=f"With --check: ranks that will run on a host. Default: {RANKS}.",
        ),
    ] = None,
    copies: Annotated[
        bool,
        typer.Option(
            "--copies",
            help="With --check: also copy between every two GPUs, and compare all bytes. It takes"
            " seconds, a context and 128 MiB on every GPU, and builds nearpeak-native.",
        ),
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    hosts: Annotated[
        str | None,
        typer.Option(
            metavar="A,B[,C...]",
            help="Look at these hosts too, and say in what they differ; this one must be among"
            " them. The others are called by ssh, which must ask for no password.",
        ),
    ] = None,
    remote_shell: RemoteShell = None,
    all_pairs: Annotated[
        bool,
        typer.Option("--all-pairs", help="Also list the path of every pair of GPUs."),
    ] = False,
    record: Annotated[
        Path | None,
        typer.Option(
            help="Write the files that describe this machine to FILE, to send it to the project. "
            "FILE has no serial numbers, no addresses and no names of hosts or users.",
            metavar="FILE",
        ),
    ] = None,
    picture: Annotated[
        Path | None,
        typer.Option(help="Draw this machine into FILE, an SVG.", metavar="FILE"),
    ] = None,
) -> None:
    """Shows, checks or records this machine."""
    from nearpeak.launching.hosts import describe
    from nearpeak.launching.paths import check_hosts, hosts_of_job
    from nearpeak.machine.discover import discover
    from nearpeak.machine.paths import discover_paths
    from nearpeak.terms.sizes import split_list

    if check:
        check_company(
            context, "--check", "--ranks", "--copies", "--hosts", "--remote-shell", "--json"
        )
        _check(hosts, remote_shell, ranks or RANKS, copies=copies, json=json)
        return
    if ranks is not None or copies:
        raise UserError(f"{'--copies' if copies else '--ranks'} goes with --check")
    if picture is not None and picture.suffix != ".svg":
        raise UserError(
            f"--picture {picture}: it draws SVG alone, so name it {picture.with_suffix('.svg')}"
        )
    alone = record is not None or picture is not None
    wanted = split_list(hosts) if hosts else [] if alone else hosts_of_job()
    names = check_hosts(wanted, remote_shell)
    this_machine = discover()
    answers = describe(this_machine, names, remote_shell)
    others, differ, unknown = _compared(this_machine, answers)
    paths, missing = discover_paths(this_machine, names, all_pairs)
    if record is not None:
        _record(this_machine, record)
    if picture is not None:
        _draw(this_machine, picture)
    if alone:
        return
    if json:
        document: dict[str, object] = {
            "schema": SCHEMA,
            "machine": this_machine,
            "paths": paths,
            "missing": [str(reason) for reason in missing],
        }
        if answers:
            document["alike"] = [host for host, lines in differ.items() if not lines]
            document["others"] = {host: others[host] for host, lines in differ.items() if lines}
            document["unknown"] = unknown
        print_json(document)
    else:
        _show(this_machine, paths, missing)
        print_hosts(differ, unknown)


def _compared(
    this_machine: Machine, answers: Mapping[str, Machine | str]
) -> tuple[dict[str, Machine], dict[str, list[str]], dict[str, str]]:
    """The hosts that describe themselves, in what they differ from this machine, and why others
    do not."""
    from nearpeak.launching.hosts import differences

    unknown = {host: other for host, other in answers.items() if isinstance(other, str)}
    others = {host: other for host, other in answers.items() if not isinstance(other, str)}
    differ = {host: [*differences(this_machine, other)] for host, other in others.items()}
    return others, differ, unknown


def _check(
    hosts: str | None, remote_shell: str | None, ranks: int, *, copies: bool, json: bool
) -> None:
    """Prints the diagnoses of all hosts; exits with 1 for a bad one, and for a host without any."""
    from nearpeak.launching.hosts import describe, diagnosed
    from nearpeak.launching.paths import check_hosts, hosts_of_job
    from nearpeak.machine.discover import discover
    from nearpeak.terms.sizes import split_list

    wanted = split_list(hosts) if hosts else hosts_of_job()
    names = check_hosts(wanted, remote_shell, call=False)
    this_machine = diagnosed(discover(), ranks, copies=copies)
    answers = describe(this_machine, names, remote_shell, ranks, copies=copies)
    others, differ, unknown = _compared(this_machine, answers)
    diagnoses = {host: other.diagnoses for host, other in others.items()}
    if json:
        document = {"schema": SCHEMA, "ranks": ranks, "findings": this_machine.diagnoses}
        if answers:
            document["nodes"] = diagnoses
            document["differ"] = {host: lines for host, lines in differ.items() if lines}
            document["unknown"] = unknown
        print_json(document)
    else:
        _show_diagnoses(diagnoses or {"": this_machine.diagnoses})
        print_hosts(differ, unknown)
    examined = [*this_machine.diagnoses, *(one for listed in diagnoses.values() for one in listed)]
    if unknown or any(diagnosis.severity == "bad" for diagnosis in examined):
        raise typer.Exit(1)


def _show_diagnoses(findings: Mapping[str, Sequence[Diagnosis]]) -> None:
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


def _record(this_machine: Machine, file: Path) -> None:
    from nearpeak.files import write_whole
    from nearpeak.machine.recording import record

    write_whole(file, record(this_machine))
    typer.echo(f"Recorded in {file}: look through it before you send it.")


def _draw(this_machine: Machine, file: Path) -> None:
    from nearpeak.files import write_whole
    from nearpeak.picture.layout import layout
    from nearpeak.picture.svg import standalone

    write_whole(file, standalone(layout(this_machine)))
    typer.echo(f"Drawn in {file}.")


def _show(this_machine: Machine, paths: list[DataPath], missing: list[NoPath]) -> None:
    from nearpeak.console import PlainConsole
    from nearpeak.machine.provenance import labelled_facts
    from nearpeak.machine.rails import of_one_port, one_port
    from nearpeak.numbers import count

    console = PlainConsole()
    threads = max(len(core.cpus) for core in this_machine.cores)
    packages = {core.package for core in this_machine.cores}
    sockets = (
        ", packages not known" if None in packages else f" in {count(len(packages), 'package')}"
    )
    console.print(f"{this_machine.hostname}: {this_machine.cpu_model}", style="bold")
    console.print(
        f"{this_machine.architecture}, Linux {this_machine.kernel}, "
        f"{'virtual' if this_machine.virtual else 'bare metal'}, as told by {this_machine.source}"
    )
    console.print(
        f"{count(len(this_machine.cores), 'core')}{sockets}, "
        + (f"SMT {threads}" if threads > 1 else "no SMT")
        + f", {count(len(this_machine.allowed_cpus), 'CPU')} usable here"
    )
    console.print(_caches(this_machine))
    for name, value in labelled_facts(this_machine.provenance):
        console.print(f"{name}: {value}")
    _print_table(console, _nodes(this_machine))
    _print_table(console, _nics(this_machine))
    for nics in of_one_port(this_machine.gpus, this_machine.nics):
        console.print(one_port(nics))
    _print_table(console, _gpus(this_machine))
    _print_table(console, _links(this_machine))
    if any(link.peer for link in this_machine.gpu_links):
        console.print("* GPUs without peer access: copies go through host memory")
    for low in sorted({link.driver_gbs for link in this_machine.gpu_links if link.driver_gbs}):
        console.print(f"Links of xGMI have their data sheet's rate; the driver says {low:g} GB/s")
    for note in this_machine.gpu_notes:
        console.print(note, style="yellow")
    _print_table(console, _paths(paths))
    local = [path for path in paths if path.transport == "local"]
    if len(local) > LOCAL_ROWS:
        console.print(f"and {len(local)} local memory paths, {local[0].id} to {local[-1].id}")
    if missing:
        console.print("Paths that are not available", style="bold")
        for reason in missing:
            console.print(f"  {reason}")


def _caches(this_machine: Machine) -> str:
    counts = Counter((cache.level, cache.kind, cache.size_bytes) for cache in this_machine.caches)
    marks = {"data": "d", "instruction": "i"}
    listed = [
        f"{count} x L{level}{marks.get(kind, '')} {_bytes(size)}"
        for (level, kind, size), count in counts.items()
    ]
    return "Caches: " + (", ".join(listed) or "none shown")


def _nodes(this_machine: Machine) -> Table:
    from nearpeak.machine.tree import format_list

    table = _table("NUMA node", "Cores", "CPUs", "Memory", "Distance to each node")
    nodes = [node for node in this_machine.numa_nodes if node.cpus or node.memory_bytes != 0]
    listed = {node.index for node in nodes}
    for node in nodes:
        cores = sum(1 for core in this_machine.cores if core.numa_node == node.index)
        size = "unknown" if node.memory_bytes is None else _bytes(node.memory_bytes)
        table.add_row(
            str(node.index),
            str(cores),
            format_list(node.cpus),
            size if node.memory == "host" else f"{size} ({node.memory.upper()})",
            " ".join(str(far) for to, far in sorted(node.distances.items()) if to in listed),
        )
    # A Grace keeps seven for parts of each GPU.
    if empty := [node.index for node in this_machine.numa_nodes if node.index not in listed]:
        table.add_row(format_list(empty), "0", "", "none", "")
    if homeless := this_machine.cores_of_no_node:
        cpus = format_list([cpu for core in homeless for cpu in core.cpus])
        table.add_row("none", str(len(homeless)), cpus, "", "")
    return table


def _nics(this_machine: Machine) -> Table:
    table = _table("NIC", "Kind", "PCI", "NUMA node", "GB/s", "Addresses")
    for nic in this_machine.nics:
        table.add_row(
            nic.name,
            nic.kind,
            nic.pci or "",
            "unknown" if nic.numa_node is None else str(nic.numa_node),
            "not said" if nic.rate_gbs is None else f"{nic.rate_gbs:g}",
            " ".join(nic.addresses),
        )
    return table


def _gpus(this_machine: Machine) -> Table:
    from nearpeak.machine.rails import joined, rails_of

    columns = ["GPU", "Name", "PCI", "NUMA node", "Memory", "Its GB/s", "To the CPU", "GB/s"]
    rails = {index: joined(nics).name for index, nics in rails_of(this_machine).items()}
    table = _table(*columns, *(["NIC"] if rails else []))
    for gpu in this_machine.gpus:
        table.add_row(
            str(gpu.index),
            gpu.name,
            gpu.pci,
            "unknown" if gpu.numa_node is None else str(gpu.numa_node),
            "unknown" if gpu.memory_bytes is None else _bytes(gpu.memory_bytes),
            _rate(gpu.memory_gbs),
            gpu.host_link,
            _rate(gpu.host_gbs),
            *([rails.get(gpu.index, "none near")] if rails else []),
        )
    return table


def _links(this_machine: Machine) -> Table:
    """The links of all pairs of GPUs: kind, GB/s each way, and a star without peer access. Those
    of partitions are the links of their packages."""
    from nearpeak.picture.packages import of_packages, packages_of

    named = {package[0].index: _range(package) for package in packages_of(this_machine)}
    this_machine = of_packages(this_machine)
    if len(this_machine.gpus) < 2:
        return _table()
    table = _table("GPU", *named.values())
    labels = {
        (link.one, link.other): " ".join(
            [
                link.kind,
                *([] if link.gbs is None else [f"{link.gbs:.4g}"]),
                *(["*"] if link.peer else []),
            ]
        )
        for link in this_machine.gpu_links
    }
    for gpu in this_machine.gpus:
        cells = [
            labels.get((min(gpu.index, other.index), max(gpu.index, other.index)), "")
            for other in this_machine.gpus
        ]
        table.add_row(named[gpu.index], *cells)
    return table


def _range(package: Sequence[Gpu]) -> str:
    """`3`, or `8-15` for the partitions of one package."""
    first, last = package[0].index, package[-1].index
    return str(first) if first == last else f"{first}-{last}"


def _rate(gbs: float | None) -> str:
    return "unknown" if gbs is None else f"{gbs:.4g}"


def _paths(paths: list[DataPath]) -> Table:
    from nearpeak.machine.tree import format_list

    local = [path for path in paths if path.transport == "local"]
    table = _table("Path", "Between", "CPUs", "Peak GB/s")
    for path in paths:
        if path in local and len(local) > LOCAL_ROWS:
            continue
        ends = path.ends[:1] if path in local else path.ends
        if len(ends) > 2:
            cpus = format_list([cpu for end in ends for cpu in end.cpus])
        else:
            cpus = " and ".join(format_list(end.cpus) for end in ends)
        table.add_row(
            path.id,
            path.summary,
            cpus,
            "" if path.theoretical_gbs is None else f"{path.theoretical_gbs:.4g}",
        )
    return table


def _table(*columns: str) -> Table:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD)
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def _print_table(console: Console, table: Table) -> None:
    if table.row_count:
        console.print(table)


def _bytes(size: int) -> str:
    value, units = float(size), iter(("B", "KiB", "MiB", "GiB"))
    unit = next(units)
    while value >= 1024 and unit != "GiB":
        value, unit = value / 1024, next(units)
    return f"{value:.4g} {unit}"
