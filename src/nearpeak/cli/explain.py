# SPDX-License-Identifier: Apache-2.0
"""`nearpeak explain`: what a library does for one message."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nearpeak.cli import (
    PathId,
    SettingsEnv,
    check_begun,
    check_words,
    judged,
    parsed,
    say,
    say_inherited,
    say_lacking,
    warn,
)
from nearpeak.errors import UserError
from nearpeak.terms.exit_statuses import sentence

if TYPE_CHECKING:
    from nearpeak.launching.single import Single
    from nearpeak.libraries.library import Contender
    from nearpeak.machine.machine import Machine
    from nearpeak.observations.explained import Explanation
    from nearpeak.terms.benchmarks import Axis

SIZES = "8,64K,16M"

HELP = f"""Say where the time of a message goes: calls, copies and waits.

Runs each size a few times, alternately without and with a small library that is
loaded into every rank. It logs what the MPI library asks of the CUDA driver
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

  nearpeak explain latency --mpi openmpi --sizes 16M --study study

  nearpeak explain --study study --worst 3

{sentence("explain")}
"""


def register(app: typer.Typer) -> None:
    """Adds the command."""
    passing = {"allow_extra_args": True, "ignore_unknown_options": True}
    app.command("explain", help=HELP, context_settings=passing)(explain)


def explain(
    context: typer.Context,
    benchmark: Annotated[
        str | None, typer.Argument(metavar="BENCHMARK", help="latency, bw, allreduce, ...")
    ] = None,
    mpi: Annotated[
        str | None,
        typer.Option(metavar="SPEC[@SETTINGS]", help="The library: its name, or a path."),
    ] = None,
    sizes: Annotated[
        str | None,
        typer.Option(metavar="LIST", help=f"Of messages. Default: {SIZES}."),
    ] = None,
    path: PathId = None,
    ranks: Annotated[
        int | None, typer.Option(metavar="N", min=2, help="Number of ranks. Default: 2.")
    ] = None,
    buffers: Annotated[
        str | None,
        typer.Option(
            metavar="A,B",
            help="As in `nearpeak run`: H host, P pinned, D device, M managed. Default: H,H.",
        ),
    ] = None,
    settings_env: SettingsEnv = None,
    ask: Annotated[
        bool, typer.Option("--ask/--no-ask", help="Ask the library which protocols it takes.")
    ] = True,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="DIR", help="Write explain.json and explain.html."),
    ] = None,
    study: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Put it into this study, and make its report again."),
    ] = None,
    worst: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            help="With --study, in the place of all else: the N messages that are furthest from"
            " the ceiling, of each library, path and buffers one.",
        ),
    ] = None,
) -> None:
    """Launches, prints, and writes."""
    from nearpeak.files import check_output, make_output
    from nearpeak.launching import mps
    from nearpeak.launching.single_launch import LaunchFailed
    from nearpeak.observations.explained import keep

    if study and output:
        raise UserError("--study puts it into a study, -o into a folder of its own: give one")
    if output:
        check_output(output)
    if worst is not None:
        given = [benchmark, mpi, sizes, path, ranks, buffers, settings_env, *context.args]
        if study is None or any(given):
            raise UserError("--worst N goes with --study DIR, and with nothing else")
        requests = _worst(study, worst)
    elif benchmark is None:
        raise UserError("name a benchmark, like `nearpeak explain latency --mpi openmpi`")
    else:
        requests = [
            Request(
                benchmark=benchmark,
                mpi=mpi,
                sizes=sizes or SIZES,
                words=context.args,
                path=path,
                ranks=ranks,
                buffers=buffers or "H,H",
                settings_env=settings_env or [],
            )
        ]
    if study:
        _check_machine(study)
        if worst is not None:
            _check_plan(study)
    failed = False
    for request in requests:
        try:
            chosen = _chosen(request)
            if output:
                make_output(output)
            explanation = _look(chosen, request, ask=ask)
        except UserError as error:
            if worst is None or len(requests) < 2:
                raise
            failed = True  # the others are still explained
            say(f"nearpeak: {request.benchmark} of {request.mpi} is not explained: {error}")
            continue
        except LaunchFailed as error:
            failed = True
            say(f"nearpeak: {error}")
            continue
        except mps.MpsError as error:
            raise UserError(str(error)) from None
        if study:
            keep(explanation, study)
        write(output, explanation)
        failed = failed or bool(explanation.failed)
    if study:
        again(study)
    if failed:
        raise typer.Exit(1)


def explain_worst(study: Path, count: int) -> None:
    """Explains a study's messages furthest from the ceiling, into its folder; prints failures."""
    from nearpeak.launching.mps import MpsError
    from nearpeak.launching.single_launch import LaunchFailed
    from nearpeak.observations.explained import keep

    try:
        _check_machine(study)
        requests = _worst(study, count)
    except UserError as error:
        say(f"nearpeak: nothing is explained: {error}")
        return
    for request in requests:
        try:
            explanation = _look(_chosen(request), request, ask=True)
        except (LaunchFailed, MpsError, UserError) as error:
            say(f"nearpeak: {request.benchmark} of {request.mpi} is not explained: {error}")
        else:
            keep(explanation, study)


@dataclass(frozen=True)
class Request:
    """The messages to explain: options of the command line, or a cell of a study."""

    benchmark: str
    mpi: str | None
    sizes: str
    words: Sequence[str] = ()
    path: str | None = None
    ranks: int | None = None
    buffers: str = "H,H"
    settings_env: Sequence[str] = ()
    measured: "Contender | None" = None  # by a study, whatever `mpi` is by now


def _worst(study: Path, count: int) -> list[Request]:
    """The messages furthest from their ceiling; UserError where the study has none."""
    from nearpeak.explain.worst import worst
    from nearpeak.findings.build import build_results
    from nearpeak.launching.command_lines import options_of
    from nearpeak.study.folder import read_plan
    from nearpeak.terms.sizes import format_bytes

    results = build_results(study)
    axes = {benchmark.name: benchmark.axes for benchmark in results.benchmarks}
    cells = worst(results, count)
    if not cells:
        raise UserError(f"{study} has no message beside a ceiling: give one that measured latency")
    contenders = {contender.who: contender for contender in read_plan(study).contenders}
    return [
        Request(
            benchmark=cell.case.benchmark,
            mpi=cell.who.label,
            sizes=format_bytes(cell.case.x),
            words=options_of(_unusual(cell.case.axes, axes[cell.case.benchmark])),
            path=cell.place.path,
            buffers=cell.case.buffers,
            measured=contenders.get(cell.who),
        )
        for cell in cells
    ]


def _unusual(values: Mapping[str, str], axes: "Sequence[Axis]") -> dict[str, str]:
    """The values of axes that are not the default."""
    defaults = {axis.name: axis.default for axis in axes}
    return {name: value for name, value in values.items() if value != defaults.get(name)}


def _check_machine(study: Path) -> None:
    """Raises UserError for a study of another machine."""
    from nearpeak.machine.discover import discover
    from nearpeak.observations.load import load

    this_machine, studied = discover(), load(study).machine
    if this_machine.hostname != studied.hostname or _gpus(this_machine) != _gpus(studied):
        raise UserError(
            f"{study} is of {studied.hostname} with {_gpus(studied)}, this is"
            f" {this_machine.hostname} with {_gpus(this_machine)}: give a study of this machine"
        )


def _check_plan(study: Path) -> None:
    """Raises UserError for a study of another user, whose plan names the programs to launch."""
    from nearpeak.study.folder import read_plan

    check_begun(study, read_plan(study))


def _gpus(machine: "Machine") -> str:
    return ", ".join(sorted(gpu.name for gpu in machine.gpus)) or "no GPU"


def _chosen(request: Request) -> "Single":
    """The launches for a request; UserError for one that cannot be explained."""
    from nearpeak.launching.single import choose
    from nearpeak.terms.buffers import parse_buffers
    from nearpeak.terms.sizes import parse_sizes

    parsed("--sizes", parse_sizes, request.sizes)
    parsed("--buffers", parse_buffers, request.buffers)
    chosen = choose(
        request.benchmark,
        request.measured or request.mpi,
        f"explain {request.benchmark}",
        path=request.path,
        ranks=request.ranks,
        buffers=request.buffers,
        settings_env=request.settings_env,
        say=say,
    )
    check_words(chosen, ["--sizes", request.sizes, *request.words], "explain")
    return chosen


def _look(chosen: "Single", request: Request, *, ask: bool) -> "Explanation":
    from nearpeak.explain import launches
    from nearpeak.terms.sizes import parse_sizes

    say(f"Path {chosen.path.id}: {chosen.path.summary}")
    say_lacking(chosen.library)
    warn(chosen.diagnoses, sys.stderr)
    say_inherited(chosen.library, chosen.line([]).env)
    return launches.explain(
        chosen,
        parse_sizes(request.sizes),
        request.words,
        lambda step: say(f"Looking at {step}"),
        ask=ask,
    )


def again(study: Path) -> None:
    """Makes the report of a study again."""
    from nearpeak.report.page import write_report

    say(f"Report: {write_report(judged(study), study)}")


def write(folder: Path | None, explanation: "Explanation") -> None:
    """Prints an explanation; writes explain.json and explain.html into a folder."""
    from nearpeak.document.page import write_page
    from nearpeak.document.terminal import print_document
    from nearpeak.explain.present import present
    from nearpeak.files import write_whole
    from nearpeak.observations.explained import to_json

    document = present(explanation)
    page = folder and folder / "explain.html"
    if folder and page:
        write_whole(folder / "explain.json", to_json(explanation))
        write_page(document, page)
    print_document(document, page)
