# SPDX-License-Identifier: Apache-2.0
"""`nearpeak bundle`: for machines that reach no package index."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from nearpeak.cli import check_company
from nearpeak.errors import UserError
from nearpeak.terms.exit_statuses import sentence

OLDEST_PYTHON = 10  # 3.10, as pyproject.toml says


HELP = f"""Pack Nearpeak and MPI libraries into one archive, or unpack one.

The archive has Nearpeak, its packages, built programs and MPI libraries. It
is for a machine of the same architecture without a package index or compiler.
There: `tar xf FILE && ./nearpeak-bundle/nearpeak study`.

--unpack and --check say whether a bundle runs on this machine: its files,
this machine, its C library and Python, and whether the modules of its
libraries load here. A machine without Nearpeak unpacks a bundle with tar,
then checks it with the Nearpeak inside.

{sentence("bundle")}

Examples:

  nearpeak bundle -o nearpeak.tar.xz --mpi openmpi-cuda --mpi intel --python 3.12

  nearpeak bundle --unpack nearpeak.tar.xz -o /opt

  nearpeak-bundle/nearpeak bundle --check nearpeak-bundle
"""


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("bundle", help=HELP)(bundle)


def bundle(
    context: typer.Context,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            help="The archive to pack, a .tar.xz; with --unpack the folder to unpack into, which is"
            " else the working directory.",
        ),
    ] = None,
    mpi: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="A library of the catalogue.")
    ] = None,
    python: Annotated[
        str,
        typer.Option(metavar="VERSION", help="Python of the other machine. Default: of this one."),
    ] = f"{sys.version_info.major}.{sys.version_info.minor}",
    imb: Annotated[
        bool, typer.Option("--imb", help="Keep the benchmark programs of Intel MPI's wheel.")
    ] = False,
    processor: Annotated[
        str | None,
        typer.Option(
            "--for-processor",
            metavar="NAME",
            help="Smaller: of Intel MPI's tables of collectives only those for this processor, as "
            "emr, and those for any. On another processor Intel MPI then lacks its tables.",
        ),
    ] = None,
    own_compiler: Annotated[
        bool,
        typer.Option(
            "--own-compiler",
            help="Build the programs with this machine's compiler: they need its glibc or a later "
            "one. Default: with zig's, from the package index, for glibc 2.28 or later.",
        ),
    ] = False,
    archive: Annotated[
        Path | None,
        typer.Option("--unpack", metavar="FILE", help="Unpack this bundle and check it."),
    ] = None,
    unpacked: Annotated[
        Path | None,
        typer.Option("--check", metavar="DIR", help="Check the folder of an unpacked bundle."),
    ] = None,
) -> None:
    """Packs, unless there is a bundle to unpack or to check."""
    if archive is not None:
        from nearpeak.bundle.unpack import unpack

        check_company(context, "--unpack", "-o")
        _check(unpack(archive, output or Path()))
    elif unpacked is not None:
        check_company(context, "--check")
        _check(unpacked)
    elif output is None or not mpi:
        raise UserError(
            "to pack a bundle give -o FILE and --mpi NAME; --unpack FILE and --check DIR are for"
            " one that there is"
        )
    else:
        _check_python(python)
        _pack(output, mpi, python, imb=imb, processor=processor, own_compiler=own_compiler)


def _check_python(version: str) -> None:
    """UserError for a version of Python that Nearpeak does not run on."""
    import re

    matched = re.fullmatch(r"3\.(\d+)", version)
    if matched is None:
        raise UserError(f"--python {version!r}: write a version from 3.10 on, like 3.12")
    if int(matched[1]) < OLDEST_PYTHON:
        raise UserError(f"--python {version!r}: Nearpeak needs Python 3.{OLDEST_PYTHON} or later")


def _pack(
    output: Path,
    mpi: list[str],
    python: str,
    *,
    imb: bool,
    processor: str | None,
    own_compiler: bool,
) -> None:
    """Packs a bundle, and prints what it holds, needs and lacks."""
    from nearpeak.bundle.make import make
    from nearpeak.libraries.library import lacking_words

    made = make(
        mpi, python, output.absolute(), imb=imb, processor=processor, own_compiler=own_compiler
    )
    for name, size in made.parts.items():
        typer.echo(f"{size / 1e6:8.1f} MB  {name}")
    newest = [part for part, needed in made.manifest.parts.items() if needed == made.manifest.glibc]
    glibc = f"glibc {made.manifest.glibc} or later ({', '.join(newest)})"
    needs = f"Python {made.manifest.python}, {glibc}"
    typer.echo(f"{output}: {made.size_bytes / 1e6:.1f} MB, for {made.manifest.machine}, {needs}")
    for name, lack in made.manifest.lacks.items():
        typer.echo(lacking_words(name, lack))


def _check(place: Path) -> None:
    """Prints why an unpacked bundle does not run here, and exits with 1; else that it is ready."""
    from nearpeak.bundle import manifest, modules
    from nearpeak.numbers import printable

    problems = manifest.problems(place) or modules.problems(place)
    for problem in problems:
        typer.echo(f"nearpeak: {printable(problem)}", err=True)
    if problems:
        raise typer.Exit(1)
    typer.echo(f"{place}/nearpeak is ready")
