# SPDX-License-Identifier: Apache-2.0
"""The commands, one file each; this file has what several of them share."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn, TypeVar

import typer
from typer._click.core import ParameterSource
from typer.core import TyperOption

from nearpeak.errors import UserError, parsed
from nearpeak.numbers import listed

if TYPE_CHECKING:
    from nearpeak.document.model import Document
    from nearpeak.results.results import Results

T = TypeVar("T")

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
StandardAbi = Annotated[
    bool,
    typer.Option(
        "--standard-abi",
        help="The application is built for the standard ABI of MPI 5 (libmpi_abi.so). Default: as"
        " the first program in COMMAND that is linked with MPI.",
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
        help="Measure between the first two of these hosts, and all of them together. They must"
        " include this host, which gets rank 0. The others are called by ssh, which must ask for"
        " no password.",
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
        " A * in PATH: every path that fits."
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


AsJson = Annotated[
    Path | None, typer.Option("--json", metavar="FILE", help="Write it all as JSON.")
]
AsJunit = Annotated[
    Path | None, typer.Option("--junit", metavar="FILE", help="Write JUnit XML, for CI.")
]
AsHtml = Annotated[Path | None, typer.Option("--html", metavar="FILE", help="Write a page.")]


def check_files(*files: Path | None) -> None:
    """UserError if two outputs have the same file."""
    named = [file for file in files if file is not None]
    if twice := next((file for file in named if named.count(file) > 1), None):
        raise UserError(f"{twice} is named for two outputs: give each a file of its own")


def deliver(
    document: "Document",
    status: int,
    texts: Sequence[tuple[Path | None, Callable[[], str]]],
    as_html: Path | None,
    *,
    verbose: bool,
) -> NoReturn:
    """Writes the texts into the files that were asked for, and the page; prints the document and
    exits with the status."""
    from nearpeak.document.page import write_page
    from nearpeak.document.terminal import print_document
    from nearpeak.files import write_whole

    for file, text in texts:
        if file is not None:
            write_whole(file, text())
    if as_html is not None:
        write_page(document, as_html)
    print_document(document, as_html, verbose=verbose)
    raise typer.Exit(status)


def parse_tolerance(text: str) -> float:
    """`5%` or `5` as 0.05; UserError for anything but 0 to less than 100 percent, and for `0.05`,
    which may be meant as a fraction."""
    try:
        value = float(text.strip().removesuffix("%"))
    except ValueError:
        value = -1.0
    if not 0 <= value < 100:
        raise UserError(f"--tolerance {text!r} is no percentage below 100: give one like 5%")
    if 0 < value < 1 and "%" not in text:
        raise UserError(f"--tolerance {text}: write {text}% or {100 * value:g}%")
    return value / 100


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


def given(option: str, parser: Callable[[str], T], text: str | None) -> T | None:
    """The value of an option as by `parsed`; None without it."""
    return None if text is None else parsed(option, parser, text)


def leave(status: int) -> None:
    """Ends the command with an exit status, unless that is 0."""
    if status:
        raise typer.Exit(status)


def conclude(results: "Results") -> None:
    """Prints how each requirement of a study was met and what went wrong: then exits with 1."""
    from nearpeak.runs import judged

    leave(judged.conclude(results))
