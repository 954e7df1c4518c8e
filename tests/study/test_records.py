# SPDX-License-Identifier: Apache-2.0
"""A study satisfies the schema of records.jsonl."""

import json
from pathlib import Path
from types import ModuleType
from typing import Any, get_args

import jsonschema

from nearpeak.planning.plan import Spare
from nearpeak.study.amendments import amend
from nearpeak.study.history import History
from nearpeak.study.records import Record

DOCS = Path(__file__).parents[2] / "docs"
KINDS = get_args(Record)


def test_what_a_study_writes_is_valid(study: Any, standins: ModuleType) -> None:
    plan = standins.small_plan(
        standins.contender("bad", "wrong"),
        standins.contender(),
        launches=2,
        benchmarks=("latency", "bw"),
    )
    plan.budget_seconds = 0.001
    plan.spare = [Spare(kind="benchmark", name="bw", why="so", variants=[1])]
    study.run(plan)
    study.run(plan, amendment=amend(History(study.folder, plan).state, "", None, 3))
    lines = (study.folder / "records.jsonl").read_text().splitlines()
    found = {json.loads(line)["record"] for line in lines}
    # Single links are those of GPUs (tests/mpi/test_counters.py).
    assert found == {kind.__struct_config__.tag for kind in KINDS}
    # jsonschema.validate would look through the whole schema again for each line.
    schema = jsonschema.Draft202012Validator(json.loads((DOCS / "records.schema.json").read_text()))
    for line in lines:
        schema.validate(json.loads(line))
