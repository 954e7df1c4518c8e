# SPDX-License-Identifier: Apache-2.0
"""results.json does not grow with what is the same for all."""

import json
from typing import Any

import msgspec

from nearpeak.results.build import to_json
from nearpeak.results.shared import expand, once
from nearpeak.terms.identity import Place

MakeStudy = Any
RANKS = 128


def test_a_place_and_a_command_stand_once(make_study: MakeStudy) -> None:
    study = make_study("alpha", "beta")
    for block in range(2):
        for library in study.libraries:
            study.launch(block, library, "bw", {1 << power: 1.0 for power in range(20)})
    results = study.results()
    small = len(to_json(results))
    place = Place(path="host x128", ends=("host",) * RANKS)
    command = "mpirun " + " ".join(map(str, range(RANKS)))
    for cell in results.timed:
        cell.place, cell.command = place, command
    for pair in results.comparisons:
        pair.place = place
    text = to_json(results)
    assert len(text) < small + 2 * len(msgspec.json.format(msgspec.json.encode(place))) + 2 * len(
        command
    )
    plain = json.loads(text)
    cell = plain["cells"][0]
    assert plain["places"][cell["place"]] == msgspec.to_builtins(place) | {
        "ends": list(place.ends),
        "pair": [],
    }
    assert plain["commands"][cell["command"]] == command


def test_what_is_called_alike_and_is_none_stays() -> None:
    plain = {"cells": [{"place": {"path": "p"}, "command": "c", "axes": {"place": "pack"}}]}
    made = once(plain)
    assert made["cells"] == [{"place": 0, "command": 0, "axes": {"place": "pack"}}]
    assert (made["places"], made["commands"]) == ([{"path": "p"}], ["c"])
    assert expand(made) == plain
