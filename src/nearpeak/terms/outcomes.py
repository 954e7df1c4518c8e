# SPDX-License-Identifier: Apache-2.0
"""Endings of launches, cases and trials."""

from typing import Final, Literal

GOOD: Final = "ok"
NOT_TRIED: Final = "not tried"  # for want of a device or its memory: no fault of the library
Status = Literal[
    "ok",  # all data arrived right
    "wrong data",  # wrong bytes arrived; the message says which
    "crashed",  # the job ended by itself; the message says by which signal
    "hung",  # no sign of life for 20 s (`--limit`), longer among three and four ranks
    "refused",  # MPI returned an error
    "leaks",  # the host's or the device's memory grows each time
    "failed",  # the library did not start
    "not tried",  # no device, no memory of it, or what the message says: no fault of the library
]
TOO_SLOW: Final = "aborted: too slow"  # the status of a case that exceeded its budget
# The failure of a launch.
Failed = Literal[
    "wrong data",  # a launch received bytes that were not sent: of a cell, it has no numbers at all
    "crashed",  # a launch crashed before it measured the case
    "hung",  # a launch hung before it measured the case
    "failed",  # a launch could not be started, or did not run as asked; its figures are not used
]
# The failure of a case, which counts against the library.
Lost = Literal[
    Failed,
    # an iteration did not fit into the budget of a case (`at_least`); counts as a loss, like those
    # above
    "aborted: too slow",
]
# The reason that a case has no figure.
NoFigure = Literal[
    Lost,
    "skipped",  # the program did not measure the case; `skipped` of Results says why
]
CellStatus = Literal[
    NoFigure,
    # all is well; no fraction if the benchmark has no ceiling and no bound follows from what was
    # measured
    "ok",
    # `fraction` is above 1.03 beyond noise: the ceiling or the bound is wrong, the library no
    # better
    "above ceiling",
    "no ceiling",  # no ceiling was measured for this case in the blocks of the cell
]
Ending = Literal[
    "ok",  # everything asked for was measured, or has a `problem`
    # ended by a signal, or by an exit status that means nothing else; verified samples before count
    "crashed",
    "hung",  # ended after the limit of a launch
    "wrong data",  # a record has wrong data
    # it could not start, refused its input, ran in another place, wrote invalid records, or left
    # out cases: its samples are not used
    "failed",
    "interrupted",  # ended with the study; runs again
]


def failure(status: Ending) -> Failed | None:
    """The failure of a launch; None if it ended well, or was interrupted from outside."""
    return None if status == "ok" or status == "interrupted" else status


def given_up(after: int) -> str:
    """A suffix of the message of a failed launch: the failures after which it was given up.

    Empty for 0.
    """
    return f"; given up after {after} failures in a row without a sample" if after else ""
