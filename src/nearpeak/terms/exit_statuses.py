# SPDX-License-Identifier: Apache-2.0
"""The exit statuses of each command with their meanings.

Their help, and docs/reference/exit-statuses.md, are made of these. A line break in a meaning is one
of the help. "" where the meaning is plain: the command did its work.
"""

_PLAIN = {"0": "", "2": "bad input"}
_ENDED = {"130": "ended by Ctrl-C; 128 + N for another signal N"}

STATUSES = {
    "build": {
        "0": "all is there",
        "1": "something could not be built (the last line says what)",
        "2": "bad input",
    },
    "bundle": {
        "0": "",
        "1": "with --unpack and --check, if the bundle does not fit\n"
        "this machine (a line for each reason)",
        "2": "for bad input",
    },
    "compare": {
        "0": "something could be judged, and nothing is proven to have regressed",
        "1": "something is surely slower, by more than the tolerance; or surely fails\n"
        "more often; or returns wrong data now; or has no figure now, although no\n"
        "launch of it failed (--allow-missing accepts that)",
        "2": "bad input, or studies that have nothing in common",
        "3": "nothing could be judged: the scatter hides every change, or no\n"
        "figure is in common (the last line says why)",
    },
    "conform": {
        "0": "all operations work",
        "1": "something crashed, hung, was refused,\n"
        "leaks or received wrong data, or nothing of a library could be tried (the last\n"
        "line says how much, or of which)",
        "2": "bad input",
    },
    "explain": {
        "0": "the time of messages was looked at",
        "1": "the library failed, at one size or\n"
        "more (the others are shown and written all the same)",
        "2": "bad input",
    },
    "history": {
        "0": "something could be judged, and nothing is slower now",
        "1": "something became slower by more than the tolerance, or began to fail, and\n"
        "still does in the newest sessions",
        "2": "bad input, or folders without a figure",
        "3": "nothing could be judged: there are too few sessions",
    },
    "import": {
        "0": "",
        "1": "if a launch crashed or a validation failed; with --beside,\n"
        "also if a launch of that study failed",
        "2": "for bad input",
    },
    "layer": {
        "0 to 255": "that of the command",
        "1 with --explain": "where the library failed",
        "2": "for bad input, and with --require where the command\nended well without the layer",
    },
    "machine": {
        "0": "",
        "1": "with --check, if something will spoil measurements,\n"
        "or a node does not describe itself",
        "2": "for bad input",
    },
    "mpi add": _PLAIN,
    "mpi list": _PLAIN,
    "mpi settings": _PLAIN,
    "mpi show": _PLAIN,
    "nodes": {
        "0": "nothing is slow, or there are fewer than four nodes, of which\n"
        "nothing is judged slow (the last line says so)",
        "1": "a node, a link or a group is, the figures look grouped and\n"
        "nothing tells the groups, data was wrong, a launch failed or was not\n"
        "run, or a requirement is missed (the last line says which)",
        "2": "bad input",
    },
    "publish": _PLAIN,
    "report": {
        "0": "",
        "1": "if a launch failed or a requirement is not met (not with\n--csv, --latex and --json)",
        "2": "for bad input",
    },
    "run": {
        "0": "the launch ended well, or the time is predicted",
        "1": "the library, the program or its launcher failed, crashed or\n"
        "hung; the ranks ran elsewhere; or the problem was not solved within\n--most iterations",
        "2": "bad input",
        "3": "wrong data was received",
        **_ENDED,
    },
    "study": {
        "0": "every launch ended well, and every requirement is met",
        "1": "a launch crashed, hung, received wrong data or failed, or a\n"
        "requirement is not met: the last line says which",
        "2": "bad input",
        **_ENDED,
    },
    "trace": {
        "0 to 127": "that of the command",
        "1": "also where the command was ended by a signal, or failed in\n"
        "MPI_Init: the last line says so",
        "2": "also for bad input, or where it ended well and there was\nnothing to count",
        "128 + N": "ended by signal N, as 130 by Ctrl-C: it is passed on to the\ncommand",
    },
    "tune": {
        "0": "the search ended, with or without better settings",
        "1": "the library failed with its default settings",
        "2": "bad\ninput",
        "128 + N": "for a signal N: --resume goes on",
    },
}

# The measuring programs, which `nearpeak` starts. They have the numbers of terms/logs.py.
PROGRAMS = {
    "0": "all was measured",
    "1": "something failed",
    "2": "the command line is wrong: one line says why",
    "3": "wrong data arrived",
}


def sentence(command: str, between: str = "; ") -> str:
    """The sentence of a command's help that has its statuses."""
    statuses = STATUSES[command].items()
    return f"Exit status: {between.join(f'{status} {text}'.rstrip() for status, text in statuses)}."


def paragraphs(command: str, indent: int = 4) -> str:
    """The statuses of a command's help, in a paragraph each, `indent` columns to the right."""
    statuses = STATUSES[command]
    margin = " " * indent
    width = max(map(len, statuses)) + 2
    lines = f"\n{margin}{'':{width}}"
    return "\n\n".join(
        f"{margin}{status:{width}}{text}".replace("\n", lines) for status, text in statuses.items()
    )
