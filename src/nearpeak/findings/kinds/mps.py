# SPDX-License-Identifier: Apache-2.0
"""One GPU shared by the ranks, with a daemon of MPS and without."""

from collections.abc import Iterator

from nearpeak.findings.evidence import Kind, Seen, View, against

LIMIT = 1.5  # times better


def find(view: View) -> Iterator[Seen]:
    """Every cell beside the same one on the path that differs in the daemon alone."""
    cells = {(cell.who, cell.place.path, cell.case): cell for cell in view.unstaged}
    for cell in view.unstaged:
        other = cells.get((cell.who, cell.place.variant_of, cell.case))
        if other is None:
            continue
        for worse, better in ((cell, other), (other, cell)):
            if loss := against(worse, better, LIMIT):
                yield Seen(worse, better, loss)


KIND = Kind("mps", find, "Let ranks share a GPU in the faster of these two ways.")
