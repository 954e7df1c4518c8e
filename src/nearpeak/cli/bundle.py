# SPDX-License-Identifier: Apache-2.0
"""`nearpeak bundle` and `nearpeak unbundle`: for machines that reach no package index."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from nearpeak.errors import UserError

OLDEST_PYTHON = 10  # 3.10, as pyproject.toml says


def register(app: typer.Typer) -> None:
    """Adds the commands."""
    app.command()(bundle)
    app.command()(unbundle)


def bundle(
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="FILE", help="The archive, a .tar.xz.")
    ],
    mpi: Annotated[list[str], typer.Option(metavar="NAME", help="A library of the catalogue.")],
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
) -> None:
    """Pack Nearpeak, its packages, built programs and MPI libraries into one archive.

    The archive is for a machine of the same architecture without a package index or compiler.
    There: `tar xf FILE && ./nearpeak-bundle/nearpeak study`.

    Example: nearpeak bundle -o nearpeak.tar.xz --mpi openmpi-cuda --mpi intel --python 3.12
    """
    import re

    from nearpeak.bundle.make import make
    from nearpeak.libraries.library import lacking_words

    version = re.fullmatch(r"3\.(\d+)", python)
    if version is None:
        raise UserError(f"--python {python!r}: write a version from 3.10 on, like 3.12")
    if int(version[1]) < OLDEST_PYTHON:
        raise UserError(f"--python {python!r}: Nearpeak needs Python 3.{OLDEST_PYTHON} or later")
    made = make(
        mpi,
        python,
        output.absolute(),
        imb=imb,
        processor=processor,
        own_compiler=own_compiler,
    )
    for name, size in made.parts.items():
        typer.echo(f"{size / 1e6:8.1f} MB  {name}")
    newest = [part for part, needed in made.manifest.parts.items() if needed == made.manifest.glibc]
    glibc = f"glibc {made.manifest.glibc} or later ({', '.join(newest)})"
    needs = f"Python {made.manifest.python}, {glibc}"
    typer.echo(f"{output}: {made.size_bytes / 1e6:.1f} MB, for {made.manifest.machine}, {needs}")
    for name, lack in made.manifest.lacks.items():
        typer.echo(lacking_words(name, lack))


def unbundle(
    source: Annotated[
        Path, typer.Argument(metavar="FILE", help="A bundle, or the folder of an unpacked one.")
    ],
    folder: Annotated[
        Path | None, typer.Argument(metavar="DIR", help="Where to unpack it. Default: here.")
    ] = None,
) -> None:
    """Unpack a bundle and check it: its files, this machine, its C library and Python, and whether
    the modules of its libraries load here.

    A machine without Nearpeak unpacks it with tar, then checks it with the Nearpeak inside:
    `nearpeak-bundle/nearpeak unbundle nearpeak-bundle`.

    Example: nearpeak unbundle nearpeak.tar.xz /opt
    """
    from nearpeak.bundle import manifest, modules
    from nearpeak.bundle.unpack import unpack
    from nearpeak.numbers import printable

    place = source if source.is_dir() else unpack(source, folder or Path())
    problems = manifest.problems(place) or modules.problems(place)
    for problem in problems:
        typer.echo(f"nearpeak: {printable(problem)}", err=True)
    if problems:
        raise typer.Exit(1)
    typer.echo(f"{place}/nearpeak is ready")
