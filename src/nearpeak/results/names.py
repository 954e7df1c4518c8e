# SPDX-License-Identifier: Apache-2.0
"""How the libraries and cases of a study are called, wherever people read of them."""

from collections.abc import Mapping

from nearpeak.study.model import STAGING, staging


def figure(benchmark: str, metric: str) -> str:
    """`bw`, `mbw_mr mr`: a metric of a benchmark, which may be called as the benchmark is."""
    return benchmark if metric == benchmark else f"{benchmark} {metric}"


def staged(value: str) -> str:
    """`staged by the benchmark (pinned)`, of a value of the axis `staging`."""
    return f"staged by the benchmark ({value})"


def axes_words(axes: Mapping[str, str]) -> list[str]:
    """`name=value` of each axis; that nothing was staged goes without saying."""
    how = staging(axes)
    words = [f"{name}={value}" for name, value in axes.items() if name != STAGING]
    return words if how is None else [staged(how), *words]


def case(what: str, buffers: str, axes: Mapping[str, str]) -> str:
    """`bw`, `bw D,D`, `bw D,D staged by the benchmark (pinned)`: a case in running text.

    `what`: a `figure`, or a metric of a ceiling.
    """
    how = staging(axes)
    words = [what, "" if buffers == "H,H" else buffers, "" if how is None else staged(how)]
    return " ".join(filter(None, words))
