# SPDX-License-Identifier: Apache-2.0
"""In what both sides differ."""

from collections.abc import Callable
from pathlib import Path

from nearpeak.compare.differences import find
from nearpeak.compare.load import load_side

MakeSides = Callable[..., Path]


def test_each_value_of_a_side_is_named_once(make_sides: MakeSides) -> None:
    old = [make_sides(f"old{day}", day=day, blocks=1, nvidia="550") for day in (1, 2)]
    new = [
        make_sides("new3", day=3, blocks=1, nvidia="550", cuda="13"),
        make_sides("new4", day=4, blocks=1, nvidia="560"),
    ]
    found = find(load_side(old), load_side(new))
    assert [
        (difference.part, difference.name, difference.old, difference.new) for difference in found
    ] == [
        ("driver", "nvidia", "550", "550 or 560"),
        ("driver", "cuda", "none", "13"),
    ]


def test_the_order_of_values_is_no_difference(make_sides: MakeSides) -> None:
    old, new = (
        [
            make_sides(f"{day}", day=day, blocks=1, nvidia=driver, variables={"UCX_TLS": tls})
            for day, driver, tls in days
        ]
        for days in (
            [(1, "550", "tcp"), (2, "560", "sm")],
            [(3, "560", "sm"), (4, "550", "tcp")],
        )
    )
    assert find(load_side(old), load_side(new)) == []


def test_a_library_of_one_side_differs_by_its_name_alone(make_sides: MakeSides) -> None:
    old = load_side([make_sides("old", libraries=("alpha", "site"), blocks=1)])
    new = load_side([make_sides("new", day=2, libraries=("alpha", "beta"), blocks=1)])
    for [study], name in ((old, "site"), (new, "beta")):
        study.results.sessions[0].fingerprint = {
            "library": {
                f"{name} version": "1.2",
                f"{name}@default settings": "0" * 64,
                "alpha path": f"/opt/{name}",
            },
            "build": {f"nearpeak-mpi {name}": "1" * 64, "nearpeak-native": "2" * 64},
        }
    assert [
        (difference.part, difference.name, difference.old, difference.new)
        for difference in find(old, new)
    ] == [
        ("library", "names", "alpha, site", "alpha, beta"),
        ("library", "alpha path", "/opt/site", "/opt/beta"),
    ]


def test_inherited_variables_are_compared(make_sides: MakeSides) -> None:
    eager = "OMPI_MCA_btl_sm_eager_limit"
    alike = {"UCX_TLS": "tcp"}
    old = load_side([make_sides(f"old{day}", day=day, blocks=1, variables=alike) for day in (1, 2)])
    new = [make_sides("new3", day=3, blocks=1, variables={**alike, eager: "8192"})]
    assert [
        (difference.part, difference.name, difference.old, difference.new)
        for difference in find(old, load_side(new))
    ] == [("variable", eager, "none", "8192")]
    new.append(make_sides("new4", day=4, blocks=1, variables=alike))
    [some] = find(old, load_side(new))
    assert (some.old, some.new) == ("none", "8192 or none")
    unknown = [study._replace(inherited={}) for study in old]
    assert not find(unknown, load_side(new))
