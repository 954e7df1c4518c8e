# SPDX-License-Identifier: Apache-2.0
"""A run of `nearpeak explain`: messages are looked at, of a library or the worst of a study."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from nearpeak.errors import RefusedError, UserError, parsed
from nearpeak.explain import launches
from nearpeak.explain import present as presenter
from nearpeak.explain.worst import worst
from nearpeak.files import check_output, make_output
from nearpeak.findings import build
from nearpeak.launching import single
from nearpeak.launching.command_lines import options_of
from nearpeak.launching.mps import MpsError
from nearpeak.launching.single_launch import LaunchFailed
from nearpeak.libraries.library import Contender
from nearpeak.machine import discover
from nearpeak.machine.machine import Machine
from nearpeak.observations import explained
from nearpeak.observations.explained import Explanation
from nearpeak.observations.load import load
from nearpeak.report.page import write_report
from nearpeak.runs import lifecycle
from nearpeak.runs.judged import judged
from nearpeak.runs.messages import check_words, introduce, say
from nearpeak.study import begun
from nearpeak.study.folder import read_plan
from nearpeak.terms.benchmarks import Axis
from nearpeak.terms.buffers import parse_buffers
from nearpeak.terms.sizes import format_bytes, parse_sizes


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
    measured: Contender | None = None  # by a study, whatever `mpi` is by now


def start(
    request: Request, output: Path | None, study: Path | None, *, ask: bool, verbose: bool
) -> int:
    """Explains the messages of a request, into a folder of its own or into a study, if one is
    given, and prints it, with `verbose` all of it; returns the exit status. UserError."""
    if output:
        check_output(output)
    if study:
        _check_machine(study)
    return _explain([request], output, study, ask=ask, verbose=verbose)


def start_worst(study: Path, count: int, *, ask: bool, verbose: bool) -> int:
    """Explains that many messages of a study, those furthest from their ceiling, as `start`
    does."""
    requests = _worst(study, count)
    _check_machine(study)
    _check_plan(study)
    return _explain(requests, None, study, ask=ask, verbose=verbose)


def add_worst(study: Path, count: int) -> None:
    """Explains a study's messages furthest from the ceiling, into its folder; prints failures."""
    try:
        _check_machine(study)
        requests = _worst(study, count)
    except UserError as error:
        say(f"nearpeak: nothing is explained: {error}")
        return
    for request in requests:
        try:
            explanation = _look(_choose(request), request, ask=True)
        except (LaunchFailed, MpsError, RefusedError, UserError) as error:
            say(f"nearpeak: {request.benchmark} of {request.mpi} is not explained: {error}")
        else:
            explained.keep(explanation, study)


def _explain(
    requests: Sequence[Request],
    output: Path | None,
    study: Path | None,
    *,
    ask: bool,
    verbose: bool,
) -> int:
    failed = False
    for request in requests:
        try:
            chosen = _choose(request)
            if output:
                make_output(output)
            explanation = _look(chosen, request, ask=ask)
        except (RefusedError, UserError) as error:
            if len(requests) < 2:
                raise
            failed = True  # the others are still explained
            say(f"nearpeak: {request.benchmark} of {request.mpi} is not explained: {error}")
            continue
        except LaunchFailed as error:
            failed = True
            say(f"nearpeak: {error}")
            continue
        except MpsError as error:
            raise UserError(str(error)) from None
        if study:
            explained.keep(explanation, study)
        present(explanation, output, verbose=verbose)
        failed = failed or bool(explanation.failed)
    if study:
        _report_again(study)
    return lifecycle.conclude(failed)


def _worst(study: Path, count: int) -> list[Request]:
    """The messages furthest from their ceiling; UserError where the study has none."""
    results = build.build_results(study)
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


def _unusual(values: Mapping[str, str], axes: Sequence[Axis]) -> dict[str, str]:
    """The values of axes that are not the default."""
    defaults = {axis.name: axis.default for axis in axes}
    return {name: value for name, value in values.items() if value != defaults.get(name)}


def _check_machine(study: Path) -> None:
    """Raises UserError for a study of another machine."""
    this_machine, studied = discover.discover(), load(study).machine
    if this_machine.hostname != studied.hostname or _gpus(this_machine) != _gpus(studied):
        raise UserError(
            f"{study} is of {studied.hostname} with {_gpus(studied)}, this is"
            f" {this_machine.hostname} with {_gpus(this_machine)}: give a study of this machine"
        )


def _check_plan(study: Path) -> None:
    """Raises UserError for a study of another user, whose plan names the programs to launch."""
    plan = read_plan(study)
    lifecycle.check_begun(study, "study", plan, lambda: begun.foreign(plan), accept=False)


def _gpus(machine: Machine) -> str:
    return ", ".join(sorted(gpu.name for gpu in machine.gpus)) or "no GPU"


def _choose(request: Request) -> single.Single:
    """The launches for a request; UserError for one that cannot be explained."""
    parsed("--sizes", parse_sizes, request.sizes)
    parsed("--buffers", parse_buffers, request.buffers)
    chosen = single.choose(
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


def _look(chosen: single.Single, request: Request, *, ask: bool) -> Explanation:
    introduce(chosen)
    return launches.explain(
        chosen,
        parse_sizes(request.sizes),
        request.words,
        lambda step: say(f"Looking at {step}"),
        ask=ask,
    )


def _report_again(study: Path) -> None:
    """Makes the report of a study again."""
    say(f"Report: {write_report(judged(study), study)}")


def present(explanation: Explanation, folder: Path | None, *, verbose: bool) -> None:
    """Writes an explanation and its page into a folder, if there is one, and prints it, with
    `verbose` all of it."""
    document, results = presenter.present(explanation), explained.to_json(explanation)
    lifecycle.present(document, folder, "explain", results, verbose=verbose)
