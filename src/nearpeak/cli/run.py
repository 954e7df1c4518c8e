# SPDX-License-Identifier: Apache-2.0
"""`nearpeak run`: one launch of one benchmark, built, bound and started for the user."""

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from nearpeak.cli import (
    Hosts,
    PathId,
    RemoteShell,
    SettingsEnv,
    check_words,
    parsed,
    say,
    say_inherited,
    say_lacking,
    warn,
)
from nearpeak.errors import UserError
from nearpeak.terms.exit_statuses import paragraphs
from nearpeak.watch.watched import temporary_folder

LAUNCH_LIMIT = "2m"
# Options of a program that then measures nothing and has no records. To solve may take long.
NO_FIGURES = {"--check", "--describe", "--version", "--solve"}
SOLVE_SECONDS = 3600.0

HELP = f"""Run one benchmark with one MPI library and print its table.

All other options go to nearpeak-mpi as they are: --sizes, --window, --jsonl, an axis like --calls.
Of several benchmarks, as in `nearpeak run put_bw get_bw --win shared`, an axis is for the one that
it follows; a line says what the others take. A + begins another command line in the same launch:
`nearpeak run put_bw --win created + put_bw --win allocated`.
`nearpeak run latency --help` shows those of one benchmark.

Where the ranks ran, and with which library, is checked: what ran elsewhere has no figures.

Examples:

    nearpeak run latency --mpi mpich

    nearpeak run bw --mpi openmpi --sizes 1M:64M --calls nonblocking

    nearpeak run latency --mpi openmpi --path "host-host tcp-loopback"

    nearpeak run bw --mpi intel --buffers D,D --path "gpu-gpu nvlink"

    nearpeak run allreduce --mpi mpich --ranks 8 --type double

    nearpeak run jacobi2d --mpi mpich --ranks 4 --sizes 64 --solve 1e-6

    nearpeak run bw --mpi mpich --hosts node1,node2 --settings-env UCX_TLS=tcp

    nearpeak run allreduce --mpi mpich --hosts node1,node2,node3

Exit status (a line on stderr says why it is not 0):

{paragraphs("run")}
"""


def register(app: typer.Typer) -> None:
    """Adds the command."""
    passing = {"allow_extra_args": True, "ignore_unknown_options": True}
    app.command(help=HELP, context_settings=passing, add_help_option=False)(run)


def run(
    context: typer.Context,
    benchmark: Annotated[
        str | None, typer.Argument(metavar="BENCHMARK", help="latency, bw, allreduce, ...")
    ] = None,
    mpi: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SPEC[@SETTINGS]",
            help="The library: its name, or a path. Settings: see `nearpeak mpi show`.",
        ),
    ] = None,
    path: PathId = None,
    ranks: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            help="Number of ranks, each with a core or GPU of its own. Default: 2, or more where"
            " the benchmark needs them. 1 rank: applications only.",
        ),
    ] = None,
    oversubscribe: Annotated[
        bool,
        typer.Option("--oversubscribe", help="With --ranks: let more ranks than cores share them."),
    ] = False,
    buffers: Annotated[
        str,
        typer.Option(
            metavar="A,B",
            help="Memory of the first half of the ranks and of the second (one letter: of all):"
            " H host, P pinned, D device, M managed.",
        ),
    ] = "H,H",
    hosts: Hosts = None,
    remote_shell: RemoteShell = None,
    settings_env: SettingsEnv = None,
    launch_limit: Annotated[
        str,
        typer.Option(
            metavar="TIME",
            help="A launch without a record or a figure for so long is ended, like 30s or 10m.",
        ),
    ] = LAUNCH_LIMIT,
    show_help: Annotated[
        bool, typer.Option("--help", "-h", help="Show this, and the options of BENCHMARK.")
    ] = False,
) -> None:
    spec = mpi[0] if mpi else None
    if mpi and len(mpi) > 1:
        raise UserError(
            "nearpeak run starts one library: give one --mpi; several are compared by"
            f" `nearpeak study{''.join(f' --mpi {name}' for name in mpi)}`"
        )
    if show_help:
        typer.echo(context.get_help())
        if benchmark:
            _show_options(benchmark, spec)
        return
    if not benchmark:
        raise UserError("name a benchmark, like `nearpeak run latency --mpi openmpi`")
    if {"-o", "--output"} & set(context.args):
        raise UserError(
            "nearpeak run makes no folder: `--jsonl FILE` keeps its records, and `nearpeak study`"
            " makes a folder with a report"
        )
    status = launch(
        benchmark,
        spec,
        context.args,
        path=path,
        ranks=ranks,
        oversubscribe=oversubscribe,
        buffers=buffers,
        hosts=hosts,
        remote_shell=remote_shell,
        settings_env=settings_env or [],
        launch_limit=launch_limit,
    )
    raise typer.Exit(status)


def launch(
    benchmark: str,
    mpi: str | None,
    arguments: Sequence[str],
    *,
    path: str | None = None,
    ranks: int | None = None,
    oversubscribe: bool = False,
    buffers: str = "H,H",
    hosts: str | None = None,
    remote_shell: str | None = None,
    settings_env: Sequence[str] = (),
    launch_limit: str = LAUNCH_LIMIT,
) -> int:
    """Launches in the foreground, with `arguments` for the measuring program; returns the exit
    status. Raises UserError.
    """
    from nearpeak.files import is_folder
    from nearpeak.launching import mps
    from nearpeak.launching.command_lines import joined, parts_of
    from nearpeak.launching.foreground import run_in_foreground
    from nearpeak.launching.paths import hosts_of_job
    from nearpeak.launching.places import wanted_at
    from nearpeak.launching.single import choose
    from nearpeak.libraries.families import is_ceiling
    from nearpeak.libraries.launch import shell_line
    from nearpeak.terms.buffers import parse_buffers
    from nearpeak.terms.sizes import parse_seconds

    if counted := next(
        (word for word in arguments if re.fullmatch(r"--?np?(\d*|=\d+)", word)), None
    ):
        raise UserError(f"{counted}: the number of ranks is --ranks N, like --ranks 4")
    for part in parts_of([benchmark, *arguments]):
        _check_named_once(part)
    limit = parsed("--launch-limit", parse_seconds, launch_limit)
    if not (hosts or ranks):
        hosts = ",".join(hosts_of_job()) or None
    chosen = choose(
        benchmark,
        mpi,
        f"run {benchmark}",
        path=path,
        ranks=ranks,
        oversubscribe=oversubscribe,
        buffers=parsed("--buffers", parse_buffers, buffers),
        hosts=hosts,
        remote_shell=remote_shell,
        settings_env=settings_env,
        say=say,
    )
    library = chosen.library
    check_words(chosen, arguments, "run")
    parts = parts_of(arguments)
    named_file = _value(parts[0], "--jsonl")
    if named_file is not None and is_folder(Path(named_file)):
        raise UserError(f"--jsonl {named_file} is a folder: name a file")
    places = [
        wanted_at(
            chosen.ends[::-1] if "--reversed" in part else chosen.ends,
            between_hosts=chosen.path.between_hosts,
            ceiling=is_ceiling(library),
            library=None if is_ceiling(library) else library.version_text,
        )
        for part in (parts[:1] if chosen.native else parts)
    ]
    if any(word.partition("=")[0] in NO_FIGURES for word in arguments):
        places, limit = [], max(limit, SOLVE_SECONDS)
    say(f"Path {chosen.path.id}: {chosen.path.summary}")
    if not chosen.benchmark.sized and _value(parts[0], "--sizes") is not None:
        say(f"nearpeak: {benchmark} has no sizes: it is measured once, whatever --sizes says")
    say_lacking(library)
    warn(chosen.diagnoses, sys.stderr)
    say_inherited(library, chosen.line(arguments).env)
    print(shell_line(chosen.line(arguments)), file=sys.stderr, flush=True)
    with temporary_folder("nearpeak-run-") as folder:
        jsonl = Path(folder) / "records.jsonl" if named_file is None else Path(named_file)
        if named_file is None:
            parts = [part if not places else [*part, "--jsonl", str(jsonl)] for part in parts]
        line = chosen.line(joined(parts))
        try:
            with chosen.mps():
                return run_in_foreground(line, places, jsonl, limit)
        except mps.MpsError as error:
            raise UserError(str(error)) from None


def _check_named_once(arguments: Sequence[str]) -> None:
    """Raises UserError for a benchmark that a command line names twice, as both would share one set
    of options. A word behind an option may be its value."""
    named = [
        word
        for before, word in zip(["", *arguments], arguments, strict=False)
        if re.fullmatch(r"[a-z]\w+", word) and ("=" in before or not before.startswith("-"))
    ]
    if twice := next((word for word in named if named.count(word) > 1), None):
        raise UserError(
            f"{twice} is named twice: begin the second one with a +, as in `nearpeak run put_bw"
            " --win created + put_bw --win allocated`"
        )


def _value(arguments: Sequence[str], option: str) -> str | None:
    """The value of an option of the measuring program; None without it."""
    for word, following in zip(arguments, [*arguments, ""][1:], strict=True):
        if word == option:
            return following
        if word.startswith(f"{option}="):
            return word.partition("=")[2]
    return None


def _show_options(benchmark: str, mpi: str | None) -> None:
    """Prints the options that the program has for a benchmark: nearpeak-mpi for the library that
    was named, else for the first found; without any nearpeak-native between two cores."""
    from nearpeak.launching.names import check_name
    from nearpeak.launching.programs import TOOLS, describe_library
    from nearpeak.libraries import settings
    from nearpeak.libraries.discover import find_libraries, resolve
    from nearpeak.libraries.families import is_ceiling, mode_of, natives
    from nearpeak.libraries.launch import environment
    from nearpeak.terms.benchmarks import named

    check_name(benchmark)
    if mpi:
        spec, _ = settings.split(mpi)
        library = resolve(spec)
    else:
        library = next(iter([*find_libraries(), *natives().values()]))
    chosen = named(describe_library(library, TOOLS).benchmarks, benchmark)
    program = TOOLS.mpi_program(library)
    mode_words = [mode_of(library) or "", "pair" if is_ceiling(library) else chosen.name]
    mode = " ".join(filter(None, mode_words))
    env = {**os.environ, **environment(library)}
    done = subprocess.run(
        [str(program), *mode.split(), "--help"],
        env=env,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    print(f"Options of {program.name} {mode}\n\n{done.stdout}")
