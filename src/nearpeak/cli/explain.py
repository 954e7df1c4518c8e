# SPDX-License-Identifier: Apache-2.0
"""`nearpeak explain`: what a library does for one message."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nearpeak.cli import Hosts, RemoteShell, say, say_lacking, warn
from nearpeak.errors import UserError

if TYPE_CHECKING:
    from nearpeak.explain.explanation import Explanation

SIZES = "8,64K,16M"

HELP = """Say where the time of a message goes: which calls, copies and waits.

Each size is launched a few times: as it is, and once with a small library loaded
into every rank, which writes down what the MPI library asks of the CUDA driver
(through CUPTI) and of libc, and what the GPU does for it. The table says which
part of a message's time each of these takes, and how much nothing is known of.
No program and no library is changed. The same without MPI is measured beside it,
and the library is asked which protocols it takes.

All other options go to nearpeak-mpi as they are: an axis like --calls, --window.

Examples:

  nearpeak explain latency --mpi openmpi

  nearpeak explain latency --mpi openmpi-cuda --buffers H,D --sizes 16M -o explained

  nearpeak explain latency --mpi intel --buffers D,D --path "gpu-gpu nvlink" --sizes 8,1M

  nearpeak explain allreduce --mpi mpich --ranks 2

Exit status: 0 the time of messages was looked at; 1 the library failed; 2 bad input.
"""


def register(app: typer.Typer) -> None:
    """Adds the command."""
    passing = {"allow_extra_args": True, "ignore_unknown_options": True}
    app.command("explain", help=HELP, context_settings=passing)(explain)


def explain(
    context: typer.Context,
    benchmark: Annotated[
        str, typer.Argument(metavar="BENCHMARK", help="latency, bw, allreduce, ...")
    ],
    mpi: Annotated[
        str | None,
        typer.Option(metavar="SPEC[@SETTINGS]", help="The library: its name, or a path."),
    ] = None,
    sizes: Annotated[str, typer.Option(metavar="LIST", help="Of messages, like 8,64K.")] = SIZES,
    path: Annotated[
        str | None,
        typer.Option(metavar="ID", help="The data path. Default: the first that fits the buffers."),
    ] = None,
    ranks: Annotated[
        int | None, typer.Option(metavar="N", min=2, help="Number of ranks. Default: 2.")
    ] = None,
    buffers: Annotated[
        str,
        typer.Option(metavar="A,B", help="As in `nearpeak run`: H host, P pinned, D device."),
    ] = "H,H",
    hosts: Hosts = None,
    remote_shell: RemoteShell = None,
    settings_env: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="A variable for the library.")
    ] = None,
    ask: Annotated[
        bool, typer.Option("--ask/--no-ask", help="Ask the library which protocols it takes.")
    ] = True,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="DIR", help="Write explain.json and explain.html."),
    ] = None,
) -> None:
    """Launches, prints, and writes."""
    from nearpeak.cli.run import check
    from nearpeak.explain import launches
    from nearpeak.files import make_folder
    from nearpeak.study import mps
    from nearpeak.study.single import choose
    from nearpeak.terms.sizes import parse_sizes

    wanted = parse_sizes(sizes)
    chosen = choose(
        benchmark,
        mpi,
        f"explain {benchmark}",
        path=path,
        ranks=ranks,
        buffers=buffers,
        hosts=hosts,
        remote_shell=remote_shell,
        settings_env=settings_env or [],
    )
    if chosen.path.two_hosts:
        raise UserError("explain looks at ranks of one host: leave out --hosts")
    check(chosen, ["--sizes", sizes, *context.args], "explain")
    if output:
        make_folder(output)
    say(f"Path {chosen.path.id}: {chosen.path.summary}")
    say_lacking(chosen.library)
    warn(chosen.diagnoses, sys.stderr)
    try:
        found = launches.explain(
            chosen, wanted, context.args, lambda what: say(f"Looking at {what}"), ask=ask
        )
    except launches.LaunchFailed as failed:
        say(f"nearpeak: {failed}")
        raise typer.Exit(1) from None
    except mps.MpsError as error:
        raise UserError(str(error)) from None
    write(output, found)


def write(folder: Path | None, found: "Explanation") -> None:
    """Prints it; into a folder go explain.json and explain.html."""
    import msgspec

    from nearpeak.files import write_whole
    from nearpeak.report.explained.page import render
    from nearpeak.report.explained.terminal import print_explanation

    print_explanation(found, folder and folder / "explain.html")
    if folder:
        text = msgspec.json.format(msgspec.json.encode(found), indent=1).decode()
        write_whole(folder / "explain.json", text + "\n")
        write_whole(folder / "explain.html", render(found))
