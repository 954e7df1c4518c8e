# SPDX-License-Identifier: Apache-2.0
"""`nearpeak mpi`: the MPI libraries of this machine, and those that can be installed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nearpeak import folders
from nearpeak.cli import print_json
from nearpeak.errors import UserError

if TYPE_CHECKING:
    from nearpeak.libraries.library import Discovery, Library
    from nearpeak.libraries.tunables import Offered

SCHEMA = 1
WIDTH_OF_VALUES = 30


def register(app: typer.Typer) -> None:
    """Adds the commands."""
    group = typer.Typer(
        help="List, install and show MPI libraries.", no_args_is_help=True, add_completion=False
    )
    group.command(name="list")(list_libraries)
    group.command(name="add")(add)
    group.command(name="show")(show)
    group.command(name="settings")(list_settings)
    app.add_typer(group, name="mpi")


def list_libraries(
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the libraries found on this machine and those that `nearpeak mpi add` installs.

    Family and version are what each library says when it is loaded.

    Examples: nearpeak mpi list | nearpeak mpi list --json
    """
    from nearpeak.libraries import nccl
    from nearpeak.libraries.discover import discover

    discovery, beside = discover(), nccl.discover()
    discovery.problems += beside.problems
    discovery.notes += [note for note in beside.notes if note not in discovery.notes]
    discovery.notes += _without_gpus([*discovery.libraries, *beside.libraries])
    if json:
        _print_json(discovery, beside.libraries)
    else:
        _print_table(discovery, beside.libraries)


def _without_gpus(libraries: list[Library]) -> Iterator[str]:
    """Notes on libraries that are made for GPUs, on a machine without any."""
    from nearpeak.libraries import catalogue
    from nearpeak.libraries.families import mode_of
    from nearpeak.machine import discover as here

    if here.discover().gpus:
        return
    catalogued = catalogue.libraries()
    for library in libraries:
        if mode_of(library):
            yield f"{library.name} needs a GPU for each rank, and none was found here"
        elif (entry := catalogued.get(library.name)) and entry.gpus and entry.installed:
            yield (
                f"{library.name} is made for {entry.gpus} GPUs, and none was found here: without"
                " one it can be measured in host memory alone (--buffers H,H)"
            )


def add(
    names: Annotated[
        list[str], typer.Argument(help="Names from the catalogue.", metavar="NAME...")
    ],
) -> None:
    """Install libraries from the package index, each in a private folder of the cache.

    Versions are pinned and checksums checked. Nothing else on the machine changes.

    Examples: nearpeak mpi add openmpi | nearpeak mpi add openmpi mpich intel
    """
    from nearpeak.libraries import catalogue
    from nearpeak.libraries.discover import resolve
    from nearpeak.libraries.whole import faults, not_whole

    wanted = [catalogue.entry(name) for name in names]  # every name is known before work begins
    for entry in wanted:
        if entry.installed:
            typer.echo(f"{entry.name} {entry.version} is there: {entry.prefix}")
        else:
            typer.echo(f"Installing {entry.name} {entry.version} ...", err=True)
            prefix = catalogue.add(entry.name)
            typer.echo(f"{entry.name} {entry.version} installed: {prefix}")
        if entry.family:
            library = resolve(entry.name)
            for fault in faults(library):
                typer.echo(f"nearpeak: {not_whole(library, fault)}", err=True)


def show(
    name: Annotated[
        str, typer.Argument(help="A name from `nearpeak mpi list`, a prefix or a path to mpirun.")
    ],
) -> None:
    """Show one library: what it says of itself, where it lies, how two ranks are launched, and why
    Nearpeak sets each variable and flag of launches.

    Examples: nearpeak mpi show openmpi | nearpeak mpi show /opt/openmpi/bin/mpirun
    """
    from rich.table import Table

    from nearpeak.console import PlainConsole
    from nearpeak.libraries import settings, standard_abi, whole
    from nearpeak.libraries.discover import resolve
    from nearpeak.libraries.families import all_families, is_ceiling, mode_of
    from nearpeak.libraries.launch import launcher_of, shell_line
    from nearpeak.libraries.library import Launch, Rank
    from nearpeak.libraries.preload import command_line

    library = resolve(name)
    if is_ceiling(library):
        typer.echo(f"{library.name}: nearpeak-native's best methods in the place of a library")
        return
    if mode_of(library):
        typer.echo(f"{library.name}: {library.version_text}")
        return
    ranks = [Rank(cpus=[0]), Rank(cpus=[1])]
    example = Launch(program=["nearpeak-mpi", "BENCHMARK"], ranks=ranks)
    console = PlainConsole(soft_wrap=True)
    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    table.add_row("name", library.name)
    table.add_row("family", f"{library.family} ({all_families()[library.family].title})")
    table.add_row("version", library.version)
    table.add_row("ABI", library.abi)
    if standard := standard_abi.file_of(library):
        table.add_row("", f"{standard_abi.NAME}, of MPI 5 ({standard.name})")
    table.add_row("prefix", str(library.prefix))
    table.add_row("origin", library.origin)
    table.add_row("launcher", f"{library.launcher} ({launcher_of(library)})")
    table.add_row("library", str(library.libmpi))
    for key, value in library.env.items():
        table.add_row("environment", f"{key}={value}")
    for number, line in enumerate(whole.lines(library)):
        table.add_row("" if number else "modules", line)
    console.print(table)
    console.print(f"\nSettings ({name}@SETTINGS): they change figures", style="bold")
    table = Table.grid(padding=(0, 2))
    for _ in range(3):
        table.add_column(no_wrap=True)
    for named in settings.family_settings(library.family).values():
        changes = [*(f"{key}={value}" for key, value in named.env.items()), *named.flags]
        changes += [f"without {variable}" for variable in named.unset]
        table.add_row(named.name, named.summary or "the library as it is", " ".join(changes))
    console.print(table)
    _print_given(library)
    console.print("\nIt says of itself", style="bold")
    console.print(library.version_text.strip())
    console.print("\nTwo ranks on CPUs 0 and 1", style="bold")
    try:
        console.print(shell_line(command_line(library, example)))
    except UserError as error:
        console.print(str(error))


def _print_given(library: Library) -> None:
    """Every variable and flag that launches of a library get from Nearpeak, and why."""
    from nearpeak.console import PlainConsole
    from nearpeak.libraries import given

    console = PlainConsole(soft_wrap=True)
    console.print("\nWhat Nearpeak gives its launches", style="bold")
    for setting in given.explained(library):
        when = given.OCCASIONS[setting.occasion]
        assignment = (
            setting.value if setting.name.startswith("-") else f"{setting.name}={setting.value}"
        )
        named = assignment if setting.value else setting.name
        console.print(f"{setting.why.kind:9} {named}{f' ({when})' if when else ''}")
        console.print(f"          {setting.why.reason}")
        if setting.why.proof:
            console.print(f"          Proof: {setting.why.proof}")


def list_settings(
    name: Annotated[
        str, typer.Argument(help="A name from `nearpeak mpi list`, a prefix or a path to mpirun.")
    ],
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the environment variables of one library that `nearpeak tune` tries, with the values.

    The library's own tools are asked which of them this version has, and their defaults.

    Examples: nearpeak mpi settings openmpi | nearpeak mpi settings mpich --json
    """
    from nearpeak.libraries.discover import resolve
    from nearpeak.libraries.tunables import offered

    library = resolve(name)
    offers = offered(library)
    if json:
        print_json(
            {
                "schema": SCHEMA,
                "library": library.name,
                "version": library.version,
                "settings": [_describe_setting(offer) for offer in offers],
            }
        )
    elif not offers:
        typer.echo(f"No settings of {library.name} are known that are worth a try.")
    else:
        _print_settings(library, offers)


def _print_settings(library: Library, offers: list[Offered]) -> None:
    from rich.table import Table

    from nearpeak.console import PlainConsole
    from nearpeak.numbers import count

    console = PlainConsole()
    table = Table(box=None, pad_edge=False)
    table.add_column("")
    table.add_column("Name", no_wrap=True)
    table.add_column("Default", max_width=WIDTH_OF_VALUES, overflow="fold")
    table.add_column("Tried", max_width=WIDTH_OF_VALUES, overflow="fold")
    table.add_column("Since")
    table.add_column("Where", max_width=WIDTH_OF_VALUES)
    table.add_column("What it decides")
    marks = {True: "", False: "-", None: "?"}
    for offer in offers:
        tunable = offer.tunable
        scope = ", ".join([*tunable.needs, *tunable.benchmarks])
        with_ = " ".join(f"{key}={value}" for key, value in tunable.with_.items())
        description = tunable.summary + (f" (with {with_})" if with_ else "")
        description += f"\nMay break: {tunable.breaks}" if tunable.breaks else ""
        tried = " ".join(offer.values) or (tunable.file and f"a file, {tunable.file}")
        row = (tunable.name, offer.default, tried, tunable.since, scope, description)
        table.add_row(marks[offer.there], *row)
    console.print(table)
    lacking = sum(offer.there is False for offer in offers)
    unknown = sum(offer.there is None for offer in offers)
    console.print(f"\n{count(len(offers), 'setting')} of {library.name} {library.version}.")
    if lacking:
        console.print(f"-  This installation does not have it ({lacking}): it is not tried.")
    if unknown:
        console.print(f"?  It cannot be asked here whether it has it ({unknown}).")


def _describe_setting(offer: Offered) -> dict[str, object]:
    import msgspec

    return {
        **msgspec.to_builtins(offer.tunable),
        "values": offer.values,
        "default": offer.default,
        "installed": offer.there,
    }


def _print_table(discovery: Discovery, beside: list[Library]) -> None:
    from rich.table import Table

    from nearpeak.console import PlainConsole
    from nearpeak.libraries import catalogue
    from nearpeak.libraries.families import natives
    from nearpeak.libraries.launch import launcher_of
    from nearpeak.libraries.settings import family_settings

    console = PlainConsole()
    if not discovery.libraries:
        console.print("No MPI library was found.")
    columns = ("Name", "Family", "Version", "ABI", "Launcher", "Origin", "GPU settings", "Prefix")
    table = Table(*columns, box=None, pad_edge=False)
    for column in table.columns[:-2]:
        column.no_wrap = True
    table.columns[-1].overflow = "fold"
    rows = [
        (library, launcher_of(library), _short(library.prefix)) for library in discovery.libraries
    ]
    rows += [(library, "", _short(library.libmpi)) for library in beside]
    rows += [(library, "", f"({library.version_text})") for library in natives().values()]
    example = ""
    for library, launcher, location in rows:
        identity = (library.name, library.family, library.version, library.abi)
        settings = [name for name in family_settings(library.family) if name != "default"]
        if settings and not example:
            example = f"{library.name}@{settings[0]}"
        table.add_row(*identity, launcher, library.origin, " ".join(settings), location)
    console.print(table)
    if example:
        console.print(
            f"A library with a setting is {example}; `nearpeak mpi show NAME` says what it does"
        )
    missing = [entry for entry in catalogue.libraries().values() if not entry.installed]
    if missing:
        console.print()
        table = Table("To be installed by", "Version", "What it is", box=None, pad_edge=False)
        for entry in missing:
            table.add_row(f"nearpeak mpi add {entry.name}", entry.version, entry.summary)
        console.print(table)
    for problem in discovery.problems:
        console.print(f"Left out: {problem}")
    for note in discovery.notes:
        console.print(f"Note: {note}")


def _short(path: Path) -> str:
    """A path with the home folder as ~."""
    home = folders.home()
    return str(Path("~", path.relative_to(home)) if path.is_relative_to(home) else path)


def _print_json(discovery: Discovery, beside: list[Library]) -> None:
    from nearpeak.libraries import catalogue
    from nearpeak.libraries.families import natives

    document = {
        "schema": SCHEMA,
        "libraries": [_describe(library) for library in discovery.libraries],
        "beside_mpi": [
            {"name": library.name, "version": library.version, "file": str(library.libmpi)}
            for library in beside
        ],
        "catalogue": [
            {
                "name": entry.name,
                "family": entry.family,
                "version": entry.version,
                "summary": entry.summary,
                "architectures": list(entry.sha256),
                "installed": entry.installed,
                "prefix": str(entry.prefix),
            }
            for entry in catalogue.libraries().values()
        ],
        "stand_ins": [
            {"name": library.name, "version": library.version, "summary": library.version_text}
            for library in natives().values()
        ],
        "problems": discovery.problems,
        "notes": discovery.notes,
    }
    print_json(document)


def _describe(library: Library) -> dict[str, object]:
    import msgspec

    from nearpeak.libraries.launch import launcher_of
    from nearpeak.libraries.settings import family_settings

    fields = msgspec.structs.asdict(library)
    paths = {key: str(fields[key]) for key in ("prefix", "launcher", "libmpi")}
    network = library.network_only and msgspec.to_builtins(library.network_only)
    settings = msgspec.to_builtins(list(family_settings(library.family).values()))
    extra = {"network_only": network, "launcher_kind": launcher_of(library), "settings": settings}
    return {**fields, **paths, **extra}
