# SPDX-License-Identifier: Apache-2.0
"""The terms of a report, defined once at its end."""

from nearpeak.document.model import Terms
from nearpeak.report.remarks import PAIRED
from nearpeak.terms.ratings import FAIR, GOOD

GLOSSARY = Terms(
    (
        ("ceiling", "what the path carries without MPI at the same message size, in this study"),
        (
            "attainable",
            "the best that a library can reach whose messages the host starts, with no kernel that"
            " stays on the GPU; where it is not given, the ceiling",
        ),
        ("plateau", "the best ceiling at any size"),
        (
            "bound",
            "what a collective or one-sided operation, or a datatype, needs at least by the"
            " ceilings of its messages; even the best possible one may be far from it",
        ),
        (
            "good, fair, poor",
            f"{100 * GOOD:.0f} % or more of the ceiling, {100 * FAIR:.0f} % or more, less",
        ),
        ("launch", "one start of a program by `mpirun`, with new processes"),
        ("block", "one launch of everything that is compared, in random order"),
        ("session", "one run of the study"),
        (
            "[a, b]",
            "a 95 % confidence interval over launches; with fewer than 6 of them, the range",
        ),
        ("%", PAIRED),
        (
            "H, P, D, M",
            "memory of the host, pinned; of a device; managed: of both ends. H,D is a host buffer"
            " at one end and a GPU buffer at the other, as osu_latency H D",
        ),
        ("cell", "one library on one path in one case: benchmark, message size, buffers"),
        (
            "unconfirmed",
            "shown by too few launches or messages, or hidden by noise: a figure without an"
            " interval, or a finding that may be chance",
        ),
    )
)
