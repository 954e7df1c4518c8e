# SPDX-License-Identifier: Apache-2.0
"""The commands, one file each; this file has what several of them share."""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO, TypeVar

import typer
from typer._click.core import ParameterSource
from typer.core import TyperOption

from nearpeak.errors import UserError
from nearpeak.numbers import count, listed, printable

if TYPE_CHECKING:
    from nearpeak.journal import RunJournal
    from nearpeak.launching.batch import JobRequest
    from nearpeak.launching.single import Single
    from nearpeak.libraries.library import Library
    from nearpeak.machine.machine import Diagnosis
    from nearpeak.planning.plan import Plan
    from nearpeak.results.requirements import Requirement
    from nearpeak.results.results import Results

T = TypeVar("T")

CHECK_SECONDS = 60.0  # for a program to look at its command line

Libraries = Annotated[
    list[str] | None,
    typer.Option(
        metavar="SPEC[@SETTINGS]", help="A library: its name, or a path. Default: all found."
    ),
]
OfApplication = Annotated[
    str | None,
    typer.Option(
        metavar="SPEC",
        help="The MPI library of the application: its name, or a path. Default: that of the first"
        " program in COMMAND that is linked with one.",
    ),
]
AcceptCommands = Annotated[
    bool,
    typer.Option(
        "--accept-commands",
        help="With --resume, --extend: run the programs that the folder names, though you did not"
        " begin it here.",
    ),
]
Hosts = Annotated[
    str | None,
    typer.Option(
        metavar="A,B[,C...]",
        help="Measure between the first two of these hosts, and all of them together; this one must"
        " be among them, and comes first. The others are called by ssh, which must ask for no"
        " password.",
    ),
]
PathId = Annotated[
    str | None,
    typer.Option(metavar="ID", help="The data path. Default: the first that fits the buffers."),
]
SettingsEnv = Annotated[
    list[str] | None, typer.Option(metavar="NAME=VALUE", help="A variable for the library.")
]
Oversubscribe = Annotated[
    bool, typer.Option("--oversubscribe", help="Let more ranks than cores share them.")
]
RemoteShell = Annotated[
    str | None,
    typer.Option(metavar="PROGRAM", help="Called as PROGRAM HOST COMMAND. Default: ssh."),
]
Require = Annotated[
    list[str] | None,
    typer.Option(
        metavar="PATH:BENCHMARK[:SIZE]>=FRACTION",
        help="Exit with 1 unless every library reaches this: a fraction of the ceiling (>=0.9), a"
        " fraction of the link's rate (>=80% of theoretical), or a figure (>=11GB/s, >=500MB/s,"
        " <=12us)."
        " 'LIBRARY,' before PATH: only that library. 'ceiling,' before PATH: the ceiling itself."
        " ' strict' at the end: the whole interval must reach it. Without SIZE: at the size where"
        " the ceiling is best.",
    ),
]


Verbose = Annotated[
    bool,
    typer.Option("--verbose", "-v", help="Print all tables and findings before the answer."),
]
Summary = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="Write the answer as Markdown, for a merge request or an issue."
    ),
]


def say(line: str) -> None:
    """Prints a line for the user on stderr."""
    print(printable(line), file=sys.stderr, flush=True)


def keep_reason(interrupt: KeyboardInterrupt, journal: "RunJournal[Any, Any]") -> str:
    """Records in the journal what ended a run early; returns it as text."""
    from nearpeak.launching.interrupts import why_ended
    from nearpeak.signals import status_of

    reason = why_ended(status_of(interrupt) - 128)
    journal.interrupt(reason)
    return reason


def print_json(value: object) -> None:
    """Prints the results of a command as JSON."""
    import msgspec

    typer.echo(msgspec.json.format(msgspec.json.encode(value)))  # as UTF-8


def print_hosts(differ: Mapping[str, Sequence[str]], unknown: Mapping[str, str]) -> None:
    """Prints which hosts are alike, how the others differ, and why some are not known."""
    from nearpeak.console import PlainConsole
    from nearpeak.numbers import in_short

    console = PlainConsole()
    if alike := [host for host, lines in differ.items() if not lines]:
        console.print(f"Hosts that are alike: {in_short(alike)}", soft_wrap=True)
    for host, lines in differ.items():
        for line in lines:
            console.print(f"{host} differs: {line}", style="yellow", soft_wrap=True)
    for host, reason in unknown.items():
        console.print(f"{host} does not say what it is: {reason}", style="yellow", soft_wrap=True)


def check_company(context: typer.Context, option: str, *others: str) -> None:
    """UserError for whatever the command line has besides `option` and the options `others`, with
    which it goes."""
    given = [
        param.opts[0]
        for param in context.command.params
        if isinstance(param, TyperOption) and _is_given(context, param)
    ]
    if wrong := [name for name in [*given, *context.args] if name not in (option, *others)]:
        company = f"only with {listed(others)}" if others else "alone"
        raise UserError(f"{option} goes {company}: leave out {' '.join(wrong)}")


def _is_given(context: typer.Context, param: TyperOption) -> bool:
    """True if an option is on the command line."""
    return context.get_parameter_source(param.name or "") is ParameterSource.COMMANDLINE


def parsed(option: str, parser: Callable[[str], T], text: str) -> T:
    """The option's value; a UserError about it names the option."""
    try:
        return parser(text)
    except UserError as error:
        raise UserError(f"{option}: {error}") from None


def warn(diagnoses: "Iterable[Diagnosis]", to: TextIO) -> None:
    """Prints the bad diagnoses of the machine, before anything is measured."""
    for diagnosis in diagnoses:
        if diagnosis.severity == "bad":
            line = f"machine:    {diagnosis.message}; {diagnosis.hint}"
            print(printable(line), file=to, flush=True)


def say_lacking(library: "Library") -> None:
    """Prints what was left out of a library, if anything, and its modules that do not load."""
    from nearpeak.libraries.library import lacking_words
    from nearpeak.libraries.whole import faults, not_whole

    if library.lacks:
        say(f"nearpeak: {lacking_words(library.name, library.lacks)}")
    for fault in faults(library):
        say(f"nearpeak: {not_whole(library, fault)}")


def say_inherited(library: "Library", given: Mapping[str, str]) -> None:
    """Prints the shell's variables that are settings of this library, except those that the launch
    sets itself: with them the library is not measured with its own settings."""
    from nearpeak.libraries.families import is_ceiling
    from nearpeak.libraries.variables import may_read
    from nearpeak.machine.doctor import settings_in

    family = "" if is_ceiling(library) else library.family
    inherited = [
        f"{name}={value}"
        for name, value in sorted(settings_in(os.environ).items())
        if may_read(family, name) and given.get(name, value) == value
    ]
    if inherited:
        say(
            f"nearpeak: inherited from your shell, and not {library.name}'s own settings:"
            f" {' '.join(inherited)}; unset them to measure the library as it is"
        )


def check_words(chosen: "Single", arguments: Sequence[str], command: str) -> None:
    """Has the program check its command line, before a launcher wraps its answer in its own, and
    prints the answer. A hint to the program's help becomes one to that of `nearpeak COMMAND`."""
    from nearpeak.launching.programs import TOOLS
    from nearpeak.libraries.launch import environment

    if chosen.native:
        return
    benchmark = chosen.benchmark.name
    try:
        done = subprocess.run(
            [str(TOOLS.mpi_program(chosen.library)), "--check", *chosen.program_options(arguments)],
            env={**os.environ, **environment(chosen.library)},
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            timeout=CHECK_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise UserError(
            f"{chosen.library.name} does not even start its program within {CHECK_SECONDS:g} s: "
            "look at what it loads"
        ) from None
    output = done.stderr.decode(errors="replace")
    pattern = rf"see nearpeak-mpi(?: {benchmark})? --help"
    sys.stderr.write(re.sub(pattern, f"see nearpeak {command} {benchmark} --help", output))
    if done.returncode:
        raise typer.Exit(done.returncode)


def check_begun(folder: Path, plan: "Plan", *, accept: bool = False) -> None:
    """Checks that this user began a plan here, or agrees to run its programs: by `accept`, or by a
    yes on a terminal. UserError otherwise."""
    from nearpeak.study import begun

    _agree(folder, [] if accept else begun.foreign(plan), "its plan names", "study")
    begun.remember(plan)


def check_run(
    folder: Path, command: str, begin: object, names: Sequence[str], *, accept: bool
) -> None:
    """Checks a run of another command as check_begun does a study. `begin`: its first record;
    `names`: its programs, libraries and variables that are not those of this machine."""
    from nearpeak.study import begun

    foreign = [] if accept or begun.is_known(begin) else names
    _agree(folder, foreign, "it names", command)
    begun.remember(begin)


def _agree(folder: Path, foreign: Sequence[str], naming: str, command: str) -> None:
    """UserError where there is something foreign to be run, and no yes on a terminal."""
    if not foreign:
        return
    warning = f"{folder} was not begun by you here, and {naming} {listed(foreign)}"
    interactive = sys.stdin.isatty() and sys.stderr.isatty()
    if interactive and typer.confirm(printable(f"{warning}. Run that?"), err=True):
        return
    line = shlex.join(["nearpeak", command, "--resume", "-o", str(folder)])
    look = f"look at its launches with `{line} --dry-run`; " if command == "study" else ""
    raise UserError(f"{warning}: {look}if you would run that yourself, add --accept-commands")


def requirements_of(texts: Iterable[str]) -> "list[Requirement]":
    """The requirements of --require; UserError for a text that is none."""
    from nearpeak.results.requirements import parse_requirement

    return [parsed("--require", parse_requirement, text) for text in texts]


def judged(folder: Path, required: Sequence[str] = ()) -> "Results":
    """The results of the study in `folder`, judged by the requirements `required`, else by those of
    its plan; UserError for a requirement that does not fit."""
    from nearpeak.findings.build import build_results
    from nearpeak.planning.subjects import planned
    from nearpeak.results.requirements import check, judge
    from nearpeak.results.subjects import measured
    from nearpeak.study.folder import read_plan
    from nearpeak.terms.study_files import PLAN

    results = build_results(folder)
    plan = read_plan(folder) if (folder / PLAN).is_file() else None
    if wanted := required or (plan.requirements if plan else []):
        subjects = planned(plan) if plan else measured(results)
        requirements = requirements_of(wanted)
        check(requirements, subjects, left_out=results.left_out)
        results.requirements = judge(requirements, subjects, results)
    return results


def conclude(results: "Results") -> None:
    """Prints how each requirement was met and, last, what went wrong: then exits with status 1."""
    from nearpeak.results.faults import faults

    for judgement in results.requirements:
        print(printable(judgement.sentence))
    wrong = faults(results)
    if missed := sum(not judgement.met for judgement in results.requirements):
        wrong.append(f"{missed} of {count(len(results.requirements), 'requirement')} missed")
    if wrong:
        print(printable(f"Exit status 1: {'; '.join(wrong)}"))
        raise typer.Exit(1)


def write_script(file: Path, job: "JobRequest", lacking: Iterable[str], *left_out: str) -> None:
    """Writes the script of a job that runs this command without --sbatch, and without the options
    `left_out` and their values. `lacking`: why named libraries are not on this machine."""
    from nearpeak.files import put_whole, working_folder
    from nearpeak.launching.batch import JOB_NAME, job_script, without

    program, *arguments = sys.argv
    if "/" in program:
        program = str(Path(program).absolute())
    for option in ("--sbatch", *left_out):
        arguments = without(arguments, option)
    script = job_script(job, [program, *arguments], working_folder())
    if (job.folder / job.begun).exists():
        raise UserError(
            f"{job.folder} has begun already, and the script would complete that: choose another"
            " folder with -o"
        )
    for reason in lacking:
        say(f"nearpeak: not here, so that the job must have it: {reason}")
    try:
        if file.exists() and JOB_NAME not in file.read_text("utf-8", errors="replace"):
            raise UserError(f"--sbatch {file} is no script of nearpeak's: name another file")
        put_whole(file, script.encode())
    except OSError as error:
        raise UserError(f"--sbatch {file}: {error.strerror}") from None
    say(f"Submit it with: sbatch {file}")
