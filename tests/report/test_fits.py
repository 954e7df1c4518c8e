# SPDX-License-Identifier: Apache-2.0
"""The table of Hockney's model."""

from nearpeak.report import fits
from nearpeak.results.results import Results


def test_a_model_says_of_which_sizes_it_is(plain: Results) -> None:
    table = fits.table(plain)
    rows = table.groups[0].rows
    assert [(row.head, row.ceiling) for row in rows] == [
        ("ceiling", True),
        ("mpich", False),
        ("openmpi", False),
    ]
    assert [rows[0].values[column.key].text for column in table.columns] == [
        "latency",
        "8 B to 1 MiB",
        "0.310",
        "11.5",
        "3.48",
        "4.00",
        "34.0",
    ]
    assert rows[0].values["benchmark"].detail == "H,H, reuse=fixed"


def test_without_fits_it_says_so(plain: Results) -> None:
    plain.fits = []
    assert fits.table(plain).groups == []
    assert fits.table(plain).empty
