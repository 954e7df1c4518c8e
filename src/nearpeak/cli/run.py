# SPDX-License-Identifier: Apache-2.0
"""`nearpeak run`: one launch of one benchmark, built, bound and started for the user."""

import contextlib
import math
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer

from nearpeak.cli import Hosts, PathId, RemoteShell, SettingsEnv, check_company
from nearpeak.errors import UserError, parsed
from nearpeak.runs.messages import check_words, say, say_inherited, say_lacking, warn
from nearpeak.terms.exit_statuses import paragraphs
from nearpeak.watch.watched import temporary_folder

LAUNCH_LIMIT = "2m"
# Options of a program that then measures nothing and has no records. To solve may take long.
NO_FIGURES = {"--check", "--describe", "--version", "--solve"}
SOLVE_SECONDS = 3600.0
APPLICATIONS = "Options of applications"

HELP = f"""Run one benchmark with one MPI library and print its table.

All other options go to nearpeak-mpi as they are: --sizes, --window, --jsonl, an axis like --calls.
Of several benchmarks, as in `nearpeak run put_bw get_bw --win shared`, an axis is for the one that
it follows; a line says what the others take. A + begins another command line in the same launch:
`nearpeak run put_bw --win created + put_bw --win allocated`.
`nearpeak run latency --help` shows those of one benchmark.

Where the ranks ran, and with which library, is checked: what ran elsewhere has no figures.

With --tolerance, an application solves its problem until the distance from the solution is at most
DISTANCE (root of the mean square), and measures nothing. Meanwhile it prints a bound of that
distance, and the residue that the bound follows from. At the end it prints the distance from the
closed form. The default problem has 64 cells along a side of each rank's tile; --sizes gives
another number, and with --scaling strong it is that of the whole problem.

With --what-if, nothing is launched: it predicts from a study how long an iteration of an
application would take with the messages of another library.

Examples:

    nearpeak run latency --mpi mpich

    nearpeak run bw --mpi openmpi --sizes 1M:64M --calls nonblocking

    nearpeak run latency --mpi openmpi --path "host-host tcp-loopback"

    nearpeak run bw --mpi intel --buffers D,D --path "gpu-gpu nvlink"

    nearpeak run allreduce --mpi mpich --ranks 8 --type double

    nearpeak run bw --mpi mpich --hosts node1,node2 --settings-env UCX_TLS=tcp

    nearpeak run allreduce --mpi mpich --hosts node1,node2,node3

    nearpeak run jacobi2d --mpi mpich --ranks 4 --sizes 64 --tolerance 1e-6 --plot solution.html

    nearpeak run jacobi2d --study study --what-if openmpi-cuda@dmabuf-off

Exit status (a line on stderr says why it is not 0):

{paragraphs("run")}
"""


def register(app: typer.Typer) -> None:
    """Adds the command."""
    passing = {"allow_extra_args": True, "ignore_unknown_options": True}
    app.command("run", help=HELP, context_settings=passing, add_help_option=False)(run)


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
    tolerance: Annotated[
        str | None,
        typer.Option(
            rich_help_panel=APPLICATIONS,
            metavar="DISTANCE",
            help="Of an application: solve until the distance is at most this.",
        ),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            rich_help_panel=APPLICATIONS,
            metavar="FILE",
            help="With --tolerance: draw the solution, as .html; as .png, .svg or .pdf where"
            " matplotlib is installed, which `make setup` does not do.",
        ),
    ] = None,
    solution: Annotated[
        Path | None,
        typer.Option(
            rich_help_panel=APPLICATIONS,
            metavar="FILE",
            help="With --tolerance: write the solution as JSON.",
        ),
    ] = None,
    what_if: Annotated[
        str | None,
        typer.Option(
            "--what-if",
            rich_help_panel=APPLICATIONS,
            metavar="LIBRARY[@SETTINGS]",
            help="Of an application: predict its time with this library's messages.",
        ),
    ] = None,
    study: Annotated[
        Path | None,
        typer.Option(
            rich_help_panel=APPLICATIONS,
            metavar="DIR",
            help="With --what-if: a study that measured both libraries.",
        ),
    ] = None,
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
    if what_if is not None or study is not None:
        if what_if is None or study is None:
            raise UserError("--what-if and --study go together: give both")
        check_company(context, "--what-if", "--study")
        _predict(study, benchmark, what_if)
        return
    if {"-o", "--output"} & set(context.args):
        raise UserError(
            "nearpeak run makes no folder: `--jsonl FILE` keeps its records, and `nearpeak study`"
            " makes a folder with a report"
        )
    with _solving(context.args, tolerance, plot, solution) as arguments:
        status = _launch(
            benchmark,
            spec,
            arguments,
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


def _predict(folder: Path, name: str, label: str) -> None:
    """Prints how long an iteration of an application would take with another library."""
    from nearpeak.console import PlainConsole
    from nearpeak.document.terminal import print_block
    from nearpeak.findings.build import build_results
    from nearpeak.report.what_if import what_if

    results = build_results(folder)
    measured = {
        entry.cell.who.label for entry in results.applications if entry.cell.case.benchmark == name
    }
    if measured == {label}:
        raise UserError(
            f"--what-if {label}: the study measured {name} with this library only, so there is"
            " nothing to predict: name another library whose messages the study has"
        )
    print_block(what_if(results, name, label), PlainConsole())


@contextlib.contextmanager
def _solving(
    arguments: Sequence[str], tolerance: str | None, plot: Path | None, solution: Path | None
) -> Iterator[list[str]]:
    """Yields the program's arguments, under which it solves if there is a tolerance; then writes
    and draws the solution, if the program left one. UserError."""
    from nearpeak.files import check_target, write_whole
    from nearpeak.report.solution import check, draw

    if any(word.partition("=")[0] == "--solve" for word in arguments):
        raise UserError("--solve of nearpeak-mpi is --tolerance here: leave out --solve")
    targets = [target for target in (plot, solution) if target is not None]
    if tolerance is None:
        if targets:
            raise UserError("--plot and --solution go with --tolerance DISTANCE")
        yield [*arguments]
        return
    distance = _distance(tolerance)
    if plot is not None:
        check(plot)
    if plot is not None and plot == solution:
        raise UserError(f"--plot and --solution are both {plot}: give each a file of its own")
    for target in targets:
        check_target(target)
    with temporary_folder("nearpeak-run-") as folder:
        result = folder / "solution.json"
        extra = ["--solution", str(result)] if targets else []
        yield [*arguments, "--solve", repr(distance), *extra]
        if result.exists():
            if solution is not None:
                write_whole(solution, result.read_text())
            if plot is not None:
                draw(result, plot)
                print(f"Solution: {plot}")


def _distance(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value < math.inf:
        raise UserError(f"--tolerance {text}: give a number above 0, like 1e-6")
    return value


def _launch(
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
    warn(chosen.diagnoses, sys.stderr, [library])
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
