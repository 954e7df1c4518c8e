# SPDX-License-Identifier: Apache-2.0
"""results.json: the whole of it, written whole or not at all."""

from pathlib import Path
from typing import Any

import pytest

from nearpeak.errors import UserError
from nearpeak.findings.build import build_results
from nearpeak.results.build import from_json, write_results
from nearpeak.results.results import SCHEMA

MakeStudy = Any
EXAMPLES = Path(__file__).parents[2] / "examples"


def test_what_is_written_is_what_was_built(make_study: MakeStudy) -> None:
    study = make_study("alpha", "beta")
    for block in range(6):
        study.ceiling(block, {("bw", "ring", 1024): 10.0})
        study.launch(block, "alpha", "bw", {1024: 5.0})
        study.launch(block, "beta", "bw", status="crashed")
    folder = study.write()
    written = build_results(folder)
    write_results(written, folder)
    text = (folder / "results.json").read_bytes()
    assert from_json(text) == written == build_results(folder)
    assert written.schema == SCHEMA
    assert (written.study, written.complete) == ("invented", True)
    assert [info.name for info in written.libraries] == ["alpha", "beta"]
    assert [setting.name for setting in written.libraries[0].settings] == ["default"]
    assert [path.id for path in written.paths] == ["host-host same-numa"]
    assert sorted(path.name for path in folder.iterdir()) == [
        "machine.json",
        "plan.json",
        "records.jsonl",
        "results.json",
    ]


def test_what_a_library_lacks_stands_with_it(make_study: MakeStudy) -> None:
    study = make_study("alpha", "beta")
    study.lacks["alpha"] = "a table"
    study.broken["beta"] = ["a module"]
    study.launch(0, "alpha", "bw", {1024: 5.0})
    libraries = study.results().libraries
    assert [library.lacks for library in libraries] == ["a table", ""]
    assert [library.broken for library in libraries] == [[], ["a module"]]


def test_the_ceiling_in_the_place_of_a_library_is_compared_with_none(make_study: MakeStudy) -> None:
    study = make_study("alpha", "ceiling", "beta")
    study.families["ceiling"] = "ceiling"
    for block in range(6):
        for library in study.libraries:
            study.launch(block, library, "bw", {8: 1.0})
    results = study.results()
    assert {(c.first.library, c.second.library) for c in results.comparisons} == {("alpha", "beta")}
    assert {cell.who.library for cell in results.cells} == {"alpha", "ceiling", "beta"}


def test_an_error_leaves_the_old_results(make_study: MakeStudy) -> None:
    study = make_study()
    study.launch(0, "alpha", "bw", {8: 1.0})
    folder = study.write()
    (folder / "results.json").mkdir()  # nothing can be renamed over a folder
    with pytest.raises(UserError, match="cannot write"):
        write_results(build_results(folder), folder)
    assert len(list(folder.iterdir())) == 4


def test_of_what_was_left_out_at_the_start_no_failed_trial_is_told() -> None:
    folder = EXAMPLES / "h200x2-shipped"
    assert any(trial.status == "crashed" for trial in build_results(folder).awareness)
    assert build_results(folder).unaware == []  # vector alone failed
