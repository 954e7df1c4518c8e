# SPDX-License-Identifier: Apache-2.0
"""`nearpeak build`: the measuring programs, built before they are needed."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from nearpeak.errors import UserError
from nearpeak.numbers import listed, printable
from nearpeak.runs.messages import say
from nearpeak.terms.exit_statuses import sentence

HELP = (
    "Build the measuring programs, and print where they are.\n\n"
    "Every command that measures builds what it needs. Run this command on a login node if the "
    "compute nodes have no compiler: they find the programs in the cache folder "
    "(~/.cache/nearpeak, or $NEARPEAK_CACHE), if it is on a shared file system.\n\n"
    "The programs run on every processor of the same architecture: they use newer instructions "
    "only where the processor has them. If you set CXXFLAGS, all nodes must have the instructions "
    "that it allows."
    "\n\n"
    f"What cannot be built for one library stops none of the others. {sentence('build')}"
    "\n\n"
    "Examples: nearpeak build | nearpeak build --mpi openmpi --mpi /opt/mpich"
)


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("build", help=HELP)(build)


def build(
    mpi: Annotated[
        list[str] | None,
        typer.Option(metavar="SPEC", help="A library: its name, or a path. Default: all found."),
    ] = None,
) -> None:
    from nearpeak.libraries.build import build_mpi, build_native, needs_compilers_libraries
    from nearpeak.libraries.discover import find_libraries, resolve

    libraries = [resolve(spec) for spec in mpi] if mpi else find_libraries()
    wanted: dict[str, Callable[[], Path]] = {"nearpeak-native": build_native}
    for library in libraries:
        wanted[f"nearpeak-mpi for {library.name}"] = partial(build_mpi, library)
    programs: dict[str, Path] = {}
    failed: dict[str, str] = {}
    for name, make in wanted.items():
        try:
            programs[name] = make()
        except UserError as error:
            if str(error) not in failed.values():
                say(f"nearpeak: {name}: {error}")
            failed[name] = str(error)
    width = max(map(len, programs), default=0)
    for name, file in programs.items():
        typer.echo(f"{name:{width}}  {file}")
    if any(needs_compilers_libraries(file) for file in programs.values()):
        typer.echo(
            "They need the libstdc++.so of this machine's compiler, because its static library is "
            "not installed (dnf install libstdc++-static)",
            err=True,
        )
    if not libraries:
        typer.echo("No MPI library was found: see `nearpeak mpi list`, or name one with --mpi PATH")
    if failed:
        typer.echo(printable(f"Exit status 1: not built: {listed(list(failed))}"))
        raise typer.Exit(1)
