# SPDX-License-Identifier: Apache-2.0
"""The `nearpeak` command: each command is one file of this folder with a `register(app)`."""

import contextlib
import errno
import importlib
import io
import os
import pkgutil
import sys
from collections import Counter
from pathlib import Path
from typing import Annotated, Any

import typer
from typer._click import Command, Context
from typer._click.exceptions import UsageError  # typer shows it as a box of several lines
from typer.core import TyperCommand, TyperGroup, TyperOption
from typer.models import CommandInfo, TyperInfo

import nearpeak.cli
from nearpeak.errors import RefusedError, UserError
from nearpeak.files import FULL, is_folder, working_folder
from nearpeak.journal import CannotWriteError
from nearpeak.numbers import printable

# Errors of a disk, or of a file server, that is gone.
GONE = (errno.EIO, errno.ENODEV, errno.ENXIO, errno.ESTALE, errno.ENOTCONN, errno.ESHUTDOWN)
# Errors of a path that the user can fix.
REFUSED = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENAMETOOLONG)


HELP = """How near to the peak does your GPU-aware MPI run, and where does it lose?

Start with `nearpeak machine --check`: it says what here spoils a measurement.
Then `nearpeak study --budget 5m` measures every library, and writes a report.
"""
GROUPS = {  # of `nearpeak --help`, and the command of each that is used most comes first
    "Prepare": ("machine", "mpi", "build", "bundle"),
    "Measure": ("study", "run", "conform", "nodes"),
    "Diagnose": ("report", "explain", "trace", "compare", "history"),
    "Improve": ("tune", "layer"),
    "Exchange": ("import", "publish"),
}
MOVED = {  # commands that were, and what does their work
    "app": "run NAME --tolerance DISTANCE, or --study DIR --what-if LIBRARY",
    "doctor": "machine --check",
    "export": "report DIR --csv, --latex or --json",
    "unbundle": "bundle --unpack FILE, or --check DIR",
}


class Commands(TyperGroup):
    """All commands, in the order of GROUPS. Prints that Ctrl-C ended one: typer only makes it
    status 130."""

    def list_commands(self, ctx: Context) -> list[str]:  # noqa: ARG002
        """The names in the order in which they are shown."""
        names = [name for group in GROUPS.values() for name in group]
        return sorted(self.commands, key=names.index)

    def get_command(self, ctx: Context, cmd_name: str) -> Command | None:
        """The command of a name; UserError that names the new form for one that was."""
        if cmd_name in MOVED:
            raise UserError(f"{cmd_name} is now: nearpeak {MOVED[cmd_name]}")
        return super().get_command(ctx, cmd_name)

    def invoke(self, ctx: Context) -> Any:
        """Runs a command; raises KeyboardInterrupt again. UserError without a working directory,
        which compilers and launchers need."""
        working_folder()
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            print("nearpeak: interrupted", file=sys.stderr)
            raise


class RejectRepeatedOptions(TyperCommand):
    """A command that rejects an option given twice, unless it may be repeated: else the last value
    would silently replace the first."""

    def parse_args(self, ctx: Context, args: list[str]) -> list[str]:
        """Raises UsageError for an option that is given twice."""
        _, _, order = self.make_parser(ctx).parse_args(args=list(args))
        for param, times in Counter(order).items():
            if not isinstance(param, TyperOption) or param.multiple or param.is_flag:
                continue
            if times > 1:
                message = f"{param.opts[0]} is given twice; give it once, with all its values"
                raise UsageError(message, ctx=ctx)
        return super().parse_args(ctx, args)


def build_app(word: str = "") -> typer.Typer:
    """The application with every command of this folder, or, where `word` names one, only with that
    of its file: all of them take a third of a command's time to start."""
    app = typer.Typer(
        cls=Commands,
        help=HELP,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_common)
    modules = pkgutil.iter_modules(nearpeak.cli.__path__)
    files = [module.name for module in modules if not module.ispkg and module.name != "main"]
    for name in [name for name in files if name.rstrip("_") == word] or files:
        importlib.import_module(f"nearpeak.cli.{name}").register(app)
    panels = {name: panel for panel, names in GROUPS.items() for name in names}
    entries: list[CommandInfo | TyperInfo] = [*app.registered_commands, *app.registered_groups]
    for entry in entries:
        entry.rich_help_panel = panels[entry.name or ""]
    groups = [group.typer_instance for group in app.registered_groups]
    for part in [app, *(group for group in groups if group is not None)]:
        for command in part.registered_commands:
            command.cls = RejectRepeatedOptions
    return app


def _say_version(wanted: bool) -> None:
    if wanted:
        print(f"nearpeak {nearpeak.__version__}")
        raise typer.Exit


def _common(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_say_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """The options before all commands."""


def _hint(command: str, option: str) -> str:
    """Says where else an option that a command lacks can be set; "" if nowhere."""
    from nearpeak.planning.options import KEYS

    key = option.lstrip("-").replace("-", "_")
    if command != "nearpeak study" or key not in KEYS:
        return ""
    return f"a study file has it as {key} = ... (docs/how-to/study.md); "


def _open_streams() -> None:
    """Open /dev/null in place of each closed standard stream.

    Else a file of ours gets its number, and whatever a child prints goes into that file.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            opened = os.open(os.devnull, os.O_RDWR)
            if opened != number:
                os.dup2(opened, number)
                os.close(opened)
            os.set_inheritable(number, True)  # children would be without it, too
            setattr(sys, name, open(number, "w" if number else "r", closefd=False))  # noqa: SIM115


def main() -> None:
    """Runs one command; bad input ends with one line and exit status 2, a full disk with 1.

    What may not be entered or read is bad input. A character that the output's encoding lacks is
    written as a ? and stops nothing.
    """
    _open_streams()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        status = build_app(*sys.argv[1:2])(prog_name="nearpeak", standalone_mode=False)
        sys.stdout.flush()
    except UsageError as error:
        # Of an option that lacks its value it has no context.
        command = error.ctx.command_path if error.ctx else " ".join(["nearpeak", *sys.argv[1:2]])
        if message := error.format_message().rstrip("."):  # none where help was printed instead
            hint = _hint(command, getattr(error, "option_name", ""))
            _tell(f"{message}; {hint}see {command} --help")
        sys.exit(2)
    except UserError as error:
        _tell(str(error))
        sys.exit(2)
    except RefusedError as error:
        sys.exit(error.status)
    except CannotWriteError as error:
        _tell(str(error))
        sys.exit(1)
    except OSError as error:
        sys.exit(_of_system(error))
    sys.exit(status or 0)


def _tell(line: str) -> None:
    """Prints why the command ends; ignores a failing stderr, as the exit status says it too."""
    with contextlib.suppress(OSError):
        print(f"nearpeak: {printable(line)}", file=sys.stderr, flush=True)


def _lacks_its_folder(error: OSError) -> bool:
    """True if a missing file lacks its folder too: removed, moved, or its disk unmounted."""
    missing = error.errno == errno.ENOENT and error.filename
    return bool(missing) and not is_folder(Path(error.filename).absolute().parent)


def _of_system(error: OSError) -> int:
    """Prints a line about an error of the system, and returns the exit status.

    An error that may be a bug of Nearpeak is raised again.
    """
    if error.filename and error.errno in REFUSED:
        _tell(f"{error.filename}: {error.strerror}")
        return 2
    place = error.filename or "what is printed"
    if error.errno in GONE or _lacks_its_folder(error):
        _tell(f"{place}: {error.strerror}: see whether its disk and folder are there, start again")
    elif error.errno in FULL:
        _tell(f"cannot write {place}: {error.strerror}")
    elif error.errno != errno.EPIPE:  # nobody reads on
        raise error
    if not error.filename:  # what is left to print fails again
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 1
