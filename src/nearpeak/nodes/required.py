# SPDX-License-Identifier: Apache-2.0
"""Requirements of the usual pair of nodes: `--require '[together |alone ]METRIC>=AMOUNT'`.

Verdicts find a node or a link that is slower than the others. A cluster that is slow everywhere has
no such node; only a figure that was known before shows it.
"""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from nearpeak.errors import UserError
from nearpeak.nodes.found import UNITS, Curve, Metric, Mode, Required
from nearpeak.terms.amounts import parse_amount

# How a figure of a metric may compare with the required amount.
RELATIONS: dict[Metric, str] = {"latency_us": "<=", "bandwidth_gbs": ">="}
# A group for each metric holds its name in the requirement.
FORM = re.compile(
    r"\s*(?:(?P<mode>together|alone)\s+)?"
    r"(?:(?P<latency_us>latency)|(?P<bandwidth_gbs>bandwidth))\s*"
    r"(?P<relation>[<>]=)(?P<amount>.+)"
)
FORMS = "'bandwidth>=20GB/s', 'latency<=3us', or 'alone bandwidth>=20GB/s'"


class Wanted(NamedTuple):
    """One requirement."""

    text: str  # as it was given
    metric: Metric
    mode: Mode
    amount: float  # in the unit of the metric


def parse(text: str) -> Wanted:
    """Parses a requirement like `bandwidth>=20GB/s`; UserError for anything else."""
    match = FORM.fullmatch(text)
    if text.endswith(" strict"):
        raise UserError(f"--require {text!r}: the usual pair has no interval: leave 'strict' out")
    if match is None:
        raise UserError(f"--require {text!r} is not a requirement of nodes: write {FORMS}")
    metric = next(metric for metric in RELATIONS if match[metric])
    unit, relation = UNITS[metric], RELATIONS[metric]
    amount = parse_amount(match["amount"])
    if amount is None or (amount[1], match["relation"]) != (unit, relation):
        raise UserError(
            f"--require {text!r}: {match[metric]} is measured in {unit}: write"
            f" {match[metric]}{relation}NUMBER{unit}"
        )
    mode: Mode = "alone" if match["mode"] == "alone" else "together"
    return Wanted(text, metric, mode, amount[0])


def check(requirements: Iterable[str], *, alone: bool) -> None:
    """Raises UserError for an invalid requirement, and for one of pairs `alone` if these are not
    measured."""
    for wanted in map(parse, requirements):
        if wanted.mode == "alone" and not alone:
            raise UserError(
                f"--require {wanted.text!r}: pairs are not all measured alone here (only of 4 to 64"
                " nodes, without --rounds): leave 'alone' out"
            )


def judge(requirements: Iterable[str], curves: Sequence[Curve]) -> list[Required]:
    """Compares the usual pair with each requirement. A missing measurement is a missed
    requirement."""
    usual = {(curve.metric, curve.mode): curve.usual for curve in curves}
    judged = []
    for wanted in map(parse, requirements):
        value = usual.get((wanted.metric, wanted.mode))
        lower = RELATIONS[wanted.metric] == "<="
        met = value is not None and (value <= wanted.amount if lower else value >= wanted.amount)
        judged.append(
            Required(
                requirement=wanted.text,
                metric=wanted.metric,
                mode=wanted.mode,
                met=met,
                value=value,
            )
        )
    return judged
