# SPDX-License-Identifier: Apache-2.0
"""`nearpeak run`: one launch of one benchmark, built, bound and started for the user."""

import contextlib
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Annotated

import typer

from nearpeak.cli import Hosts, RemoteShell
from nearpeak.errors import UserError
from nearpeak.numbers import printable

HELP = """Run one benchmark with one MPI library and print its table.

All other options go to nearpeak-mpi as they are: --sizes, --window, --jsonl, an axis like --calls.
`nearpeak run latency --help` shows those of one benchmark.

Examples:

    nearpeak run latency --mpi mpich

    nearpeak run bw --mpi openmpi --sizes 1M:64M --calls nonblocking

    nearpeak run latency --mpi openmpi --path "host-host tcp-loopback"

    nearpeak run bw --mpi intel --buffers D,D --path "gpu-gpu nvlink"

    nearpeak run allreduce --mpi mpich --ranks 8 --type double

    nearpeak run jacobi2d --mpi mpich --ranks 4 --sizes 64 --solve 1e-6

    nearpeak run bw --mpi mpich --hosts node1,node2 --settings-env UCX_TLS=tcp
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
        str | None,
        typer.Option(
            metavar="SPEC[@SETTINGS]",
            help="The library: its name, or a path. Settings: see `nearpeak mpi show`.",
        ),
    ] = None,
    path: Annotated[
        str | None,
        typer.Option(metavar="ID", help="The data path. Default: the first that fits the buffers."),
    ] = None,
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
    settings_env: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="A variable for the library.")
    ] = None,
    show_help: Annotated[
        bool, typer.Option("--help", "-h", help="Show this, and the options of BENCHMARK.")
    ] = False,
) -> None:
    if show_help:
        typer.echo(context.get_help())
        if benchmark:
            _show_options(benchmark, mpi)
        return
    if not benchmark:
        raise UserError("name a benchmark, like `nearpeak run latency --mpi openmpi`")
    status = launch(
        benchmark,
        mpi,
        context.args,
        path=path,
        ranks=ranks,
        oversubscribe=oversubscribe,
        buffers=buffers,
        hosts=hosts,
        remote_shell=remote_shell,
        settings_env=settings_env or [],
    )
    raise typer.Exit(status)


def launch(
    benchmark: str,
    mpi: str | None,
    words: Sequence[str],
    *,
    path: str | None = None,
    ranks: int | None = None,
    oversubscribe: bool = False,
    buffers: str = "H,H",
    hosts: str | None = None,
    remote_shell: str | None = None,
    settings_env: Sequence[str] = (),
) -> int:
    """One launch in the foreground, with `words` for the measuring program; its exit status.

    Raises UserError.
    """
    import msgspec

    from nearpeak.libraries import settings
    from nearpeak.libraries.families import is_ceiling, mode_of
    from nearpeak.machine.discover import discover
    from nearpeak.machine.places import Ranks
    from nearpeak.study import mps, prepare
    from nearpeak.study.benchmarks import named
    from nearpeak.study.buffers import parse_buffers
    from nearpeak.study.commands import (
        device_options,
        library_of_ceilings,
        loaded_by_native,
        rank_launch,
    )
    from nearpeak.study.model import new_study
    from nearpeak.study.options import split_list
    from nearpeak.study.plan import between_gpus

    if not mpi:
        raise UserError(
            "name a library with --mpi, one of `nearpeak mpi list` or a path, like "
            f"`nearpeak run {benchmark} --mpi openmpi`"
        )
    env = _settings(settings_env)
    names = split_list(hosts) if hosts else []
    prepare.check_hosts(names, remote_shell)
    spec, wanted = settings.split(mpi)
    library = prepare.resolve(spec)
    chosen_settings = settings.find(library.family, wanted or "default")
    described = named(prepare.describe_library(library).benchmarks, benchmark)
    kinds = parse_buffers(buffers)
    if path and ranks:
        raise UserError("--ranks chooses a path by itself: leave out one of --path and --ranks")
    wanted_ranks = Ranks([ranks] if ranks else [], oversubscribe)
    paths = prepare.select_paths(discover(), names, [path] if path else [], ranks=wanted_ranks)
    chosen, ends = prepare.fitting_path(paths, described, kinds)
    study = new_study()
    given = msgspec.structs.replace(chosen_settings, env={**chosen_settings.env, **env})
    if mode_of(library):
        if not between_gpus(chosen, kinds):
            raise UserError(
                f"{library.name} is measured between GPUs of this host, one of each rank: give it "
                "--buffers D,D and a --path between two GPUs"
            )
        line = loaded_by_native(
            prepare.TOOLS, library, chosen, ends, kinds, [benchmark, *words], given, study
        )
    elif is_ceiling(library):
        line = library_of_ceilings(
            prepare.TOOLS, chosen, ends, kinds, [benchmark], list(words), given, study
        )
    else:
        program = str(prepare.TOOLS.mpi_program(library))
        all_words = [benchmark, "--buffers", kinds, *device_options(ends, kinds), *words]
        _check([program, "--check", *all_words], prepare.environment(library))
        started = rank_launch(
            [program, *all_words], chosen, ends, kinds, given, study, remote_shell
        )
        line = prepare.TOOLS.command_line(library, started)
    print(printable(f"Path {chosen.id}: {chosen.summary}"), file=sys.stderr)
    print(prepare.shell_line(line), file=sys.stderr, flush=True)
    try:
        with mps.daemon(study) if chosen.mps else contextlib.nullcontext():
            return _start(line.argv, {**os.environ, **line.env})
    except mps.MpsError as error:
        raise UserError(str(error)) from None


def _start(argv: list[str], env: dict[str, str]) -> int:
    """Runs the launch in the foreground; its exit status, as a shell would say it."""
    try:
        process = subprocess.Popen(argv, env=env, stdin=subprocess.DEVNULL)
    except OSError as error:
        raise UserError(f"{argv[0]} cannot be started: {error.strerror}") from None
    try:
        code = process.wait()
    except KeyboardInterrupt:
        code = process.wait()  # the terminal told the launcher too: it ends its ranks
    return code if code >= 0 else 128 - code


def _settings(words: Sequence[str]) -> dict[str, str]:
    env = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not name:
            raise UserError(f"--settings-env {word!r}: write NAME=VALUE")
        env[name] = value
    return env


def _check(argv: list[str], env: Mapping[str, str]) -> None:
    """Lets the program look at its command line, before a launcher wraps its answer in its own."""
    done = subprocess.run(
        argv,
        env={**os.environ, **env},
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        check=False,
    )
    if done.returncode:
        sys.stderr.write(done.stderr.decode(errors="replace"))
        raise typer.Exit(done.returncode)


def _show_options(benchmark: str, mpi: str | None) -> None:
    """Prints the options that the program has for a benchmark: nearpeak-mpi for the library that
    was named, else for the first found; without any nearpeak-native between two cores."""
    from nearpeak.libraries import settings
    from nearpeak.libraries.families import is_ceiling, mode_of, natives
    from nearpeak.study import prepare
    from nearpeak.study.benchmarks import named

    if mpi:
        spec, _ = settings.split(mpi)
        library = prepare.resolve(spec)
    else:
        library = next(iter([*prepare.find_libraries(), *natives().values()]))
    chosen = named(prepare.describe_library(library).benchmarks, benchmark)
    program = prepare.TOOLS.mpi_program(library)
    words = [mode_of(library) or "", "pair" if is_ceiling(library) else chosen.name]
    mode = " ".join(filter(None, words))
    env = {**os.environ, **prepare.environment(library)}
    told = subprocess.run(
        [str(program), *mode.split(), "--help"],
        env=env,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    print(f"Options of {program.name} {mode}\n\n{told.stdout}")
