# SPDX-License-Identifier: Apache-2.0
"""Reading a study folder: what a killed study leaves, and what is refused."""

import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from nearpeak.errors import UserError
from nearpeak.machine.states import CpuState, State
from nearpeak.observations.observed import Block
from nearpeak.observations.sources.study import load
from nearpeak.planning.plan import Spare
from nearpeak.study.records import (
    LaunchEndRecord,
    LaunchRecord,
    LeftOutRecord,
    Record,
    StudyEndRecord,
)
from nearpeak.study.seal import Seal, file_digests
from nearpeak.terms.identity import CEILING, Case, Who

MakeStudy = Any


def seal(folder: Path) -> None:
    """Gives a folder whose files were changed the digests that it would have."""
    file = folder / "records.jsonl"
    lines = [msgspec.json.decode(line, type=Record) for line in file.read_bytes().splitlines()]
    lines[0].files = file_digests(folder)
    sealed, data = Seal(), b""
    for known in lines:
        data += (line := sealed.line(known, msgspec.json.encode))
        sealed.take(line)
    file.write_bytes(data)


def test_a_study_is_read(make_study: MakeStudy) -> None:
    study = make_study()
    study.launch(0, "alpha", "bw", {8: 1.0, 1024: 2.0})
    data = load(study.write())
    assert data.name == "invented"
    assert data.complete
    assert data.machine.hostname == "invented"
    (launch,) = data.launches
    assert (launch.who, launch.block, launch.status) == (Who("alpha"), Block(0, 0), "ok")
    assert launch.tick_ns == 1.0
    first, second = data.observed
    assert first.launch is second.launch is launch
    assert first.case == Case(
        benchmark="bw",
        metric="bw",
        buffers="H,H",
        axes={"reuse": "fixed", "calls": "blocking"},
        x=8,
    )
    assert second.case == first.case.curve.at(1024)
    assert second.samples is not None
    assert second.samples.tolist() == pytest.approx([1.96, 2.0, 2.0, 2.0, 2.1])
    assert (second.summary.median, second.summary.minimum) == (2.0, 1.96)
    assert second.origin == "records.jsonl"
    assert data.gaps == []


def test_what_held_a_launch_down_is_known(make_study: MakeStudy) -> None:
    study = make_study()
    study.launch(0, "alpha", "bw", {8: 1.0})
    for record in study.records:
        if isinstance(record, LaunchRecord):
            record.state = State(cpus=[CpuState(cpu=0, core_throttles=1)])
        elif isinstance(record, LaunchEndRecord):
            record.state = State(cpus=[CpuState(cpu=0, core_throttles=2)])
    (launch,) = load(study.write()).launches
    assert launch.held_down == ("core too hot",)
    assert launch.conditions["held down"] == "core too hot"


def test_a_ceiling_is_of_the_benchmark_that_has_its_metric(make_study: MakeStudy) -> None:
    study = make_study()
    study.ceiling(0, {("mr", "ring", 8): 1.0})
    study.launch(0, "alpha", "bw", {8: 1.0})
    ceiling, library = load(study.write()).observed
    assert (ceiling.launch.who, ceiling.method) == (CEILING, "ring")
    assert (ceiling.case.benchmark, ceiling.case.metric) == ("mbw_mr", "mr")
    assert (library.launch.who, library.method) == (Who("alpha"), "")


def test_sessions_are_told_apart(make_study: MakeStudy) -> None:
    study = make_study()
    study.launch(0, "alpha", "bw", {8: 1.0})
    study.session()
    study.launch(1, "alpha", "bw", {8: 2.0})
    data = load(study.write())
    assert [session.number for session in data.sessions] == [0, 1]
    assert [observation.launch.block for observation in data.observed] == [Block(0, 0), Block(1, 1)]
    assert data.sessions[0].fingerprint["machine"] == {"host": "invented"}


def test_a_library_that_was_left_out_on_a_path_is_told(make_study: MakeStudy) -> None:
    study = make_study()
    study.launch(0, "alpha", "bw", {8: 1.0})
    path = "host-host same-numa"
    study.spare = [Spare(kind="library", name="so", why="so", contender=0, paths=[path])]
    study.records.append(LeftOutRecord(block=1, spare=0, budget_seconds=9.0))
    [left] = load(study.write()).left_out
    assert (left.who, left.path, left.paths) == (Who("alpha"), path, [])
    assert left.holds(path, "bw", {}, "alpha")
    assert not left.holds(path, "bw", {}, "beta")
    assert not left.holds("another", "bw", {}, "alpha")


def test_a_truncated_last_line_is_left_out(make_study: MakeStudy) -> None:
    study = make_study()
    study.launch(0, "alpha", "bw", {8: 1.0, 1024: 2.0})
    study.records.pop()  # the launch's end
    folder = study.write(complete=False)
    file = folder / "records.jsonl"
    whole = file.read_bytes()
    last = len(whole.splitlines(keepends=True)[-1])
    for cut in (1, last // 2, last - 1):
        file.write_bytes(whole[:-cut])
        data = load(folder)
        assert [observation.case.x for observation in data.observed] == [8]
        assert not data.complete


def test_any_other_bad_line_is_named(make_study: MakeStudy) -> None:
    study = make_study()
    study.launch(0, "alpha", "bw", {8: 1.0})
    file = study.write() / "records.jsonl"
    lines = file.read_bytes().splitlines(keepends=True)
    lines[3] = lines[3][:20] + b"\n"
    file.write_bytes(b"".join(lines))
    with pytest.raises(UserError, match="line 4 cannot be believed"):
        load(study.folder)


def test_the_last_try_of_a_launch_counts(make_study: MakeStudy) -> None:
    study = make_study()
    study.launch(0, "alpha", "bw", {8: 1.0, 1024: 2.0}, status=None)
    study.launch(0, "alpha", "bw", {8: 3.0, 1024: 4.0})
    data = load(study.write())
    assert [launch.number for launch in data.launches] == [1]
    assert [observation.summary.median for observation in data.observed] == [3.0, 4.0]


def test_a_try_that_was_cut_off_takes_no_place_of_a_whole_one(make_study: MakeStudy) -> None:
    study = make_study()
    study.launch(0, "alpha", "bw", {8: 1.0, 1024: 2.0})
    study.session()
    study.launch(0, "alpha", "bw", {8: 3.0}, status="interrupted")
    data = load(study.write(complete=False))
    assert [observation.summary.median for observation in data.observed] == [1.0, 2.0]
    assert [launch.number for launch in data.launches] == [0]


def test_a_try_that_failed_stays_on_record(make_study: MakeStudy) -> None:
    study = make_study()
    study.launch(0, "alpha", "bw", {8: 1.0}, status="crashed")
    study.session()
    study.launch(0, "alpha", "bw", {8: 3.0, 1024: 4.0})
    data = load(study.write())
    assert [(launch.number, launch.status) for launch in data.launches] == [
        (0, "crashed"),
        (1, "ok"),
    ]
    assert [observation.summary.median for observation in data.observed] == [3.0, 4.0]
    assert {gap.status for gap in data.gaps} == {"crashed"}


def test_what_ended_a_launch_and_that_it_was_given_up_is_known(make_study: MakeStudy) -> None:
    study = make_study()
    launch = study.launch(0, "alpha", status=None)
    study.end(launch, "crashed", "ended by SIGSEGV: pid 7", 3)
    (found,) = load(study.write()).launches
    assert (found.message, found.cause, found.given_up_after) == (
        "ended by SIGSEGV: pid 7",
        "SIGSEGV",
        3,
    )


def test_a_launch_without_an_end_keeps_what_it_measured(make_study: MakeStudy) -> None:
    study = make_study()
    study.launch(0, "alpha", "bw", {8: 1.0}, status=None)
    data = load(study.write(complete=False))
    assert len(data.observed) == 1
    assert data.gaps == []


def test_a_resumed_study_is_complete_only_at_its_end(make_study: MakeStudy) -> None:
    study = make_study()
    study.launch(0, "alpha", "bw", {8: 1.0})
    study.write(complete=True)
    study.session()
    study.launch(1, "alpha", "bw", {8: 1.0})
    assert not load(study.write(complete=False)).complete
    assert load(study.write(complete=True)).complete
    study.records.append(StudyEndRecord(status="imprecise", message="the budget is spent"))
    spent = load(study.write(complete=False))
    assert (spent.complete, spent.ended) == (True, "the budget is spent")


@pytest.mark.parametrize(
    ("kind", "key", "value"),
    [
        ("launch", "role", "mpi2"),
        ("launch", "launch", -1),
        ("launch", "library", "beta"),
        ("launch end", "status", "fine"),
        ("samples", "benchmark", "lateness"),
        ("samples", "metric", "lateness"),
        ("samples", "better", "higer"),
        ("samples", "samples", [1.0, -1.0]),
        ("problem", "benchmark", "lateness"),
        ("problem", "status", "strange"),
        ("environment", "ranks", [{"rank": [], "cpus": 7}]),
    ],
)
def test_what_is_no_answer_to_the_plan_is_named(
    make_study: MakeStudy, kind: str, key: str, value: Any
) -> None:
    study = make_study()
    number = study.launch(0, "alpha", "bw", {8: 1.0}, status=None)
    study.problem(number, "bw", 1024, "skipped")
    study.end(number, "ok")
    file = study.write() / "records.jsonl"
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    load(study.folder)
    at = next(place for place, line in enumerate(lines) if line["record"] == kind)
    lines[at][key] = value
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    with pytest.raises(UserError, match=f"line {at + 1} cannot be believed"):
        load(study.folder)


@pytest.mark.parametrize("name", ["records.jsonl", "plan.json", "machine.json"])
def test_bytes_that_are_no_text_are_bad_input(make_study: MakeStudy, name: str) -> None:
    study = make_study()
    study.launch(0, "alpha", "bw", {8: 1.0})
    file = study.write() / name
    file.write_bytes(file.read_bytes().replace(b"invented", b"invent\xff\xfe", 1))
    with pytest.raises(UserError, match=re.escape(name)):
        load(study.folder)


@pytest.mark.parametrize("name", ["records.jsonl", "plan.json"])
def test_files_that_cannot_be_read(
    make_study: MakeStudy, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    study = make_study()
    study.launch(0, "alpha", "bw", {8: 1.0})
    folder = study.write()
    opened = Path.open

    def refuse(file: Path, *arguments: Any, **named: Any) -> Any:
        if file.name == name:
            raise PermissionError(13, "Permission denied", str(file))
        return opened(file, *arguments, **named)

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(UserError, match=rf"{name} cannot be read \(Permission denied\)"):
        load(folder)


@pytest.mark.parametrize("status", ["ok", "hung", "crashed", None])
def test_nothing_of_a_launch_in_the_wrong_place_is_believed(
    make_study: MakeStudy, status: str | None
) -> None:
    """Nor of one that does not say where it ran, whatever was recorded of its end."""
    for ranks in ([{"rank": 0, "cpus": [0]}, {"rank": 1, "cpus": [9]}], None):
        study = make_study()
        study.launch(0, "alpha", "bw", {8: 1.0}, status=status)
        for record in study.records[:]:
            if hasattr(record, "clock"):
                record.ranks = ranks
                if ranks is None:
                    study.records.remove(record)
        assert load(study.write()).observed == []


@pytest.mark.parametrize("name", ["records.jsonl", "plan.json"])
def test_another_schema_is_refused(make_study: MakeStudy, name: str) -> None:
    study = make_study()
    study.launch(0, "alpha", "bw", {8: 1.0})
    folder = study.write()
    file = folder / name
    text = file.read_text()
    file.write_text(re.sub(r'"schema":\d', '"schema":7', text, count=1))
    if name == "plan.json":
        seal(folder)
    with pytest.raises(UserError, match=r"schema 7.* schema [45]: use the nearpeak that wrote it"):
        load(study.folder)
    # Also when the other schema has other fields.
    first, _, rest = text.partition("\n")
    file.write_text(json.dumps({"record": "study", "schema": 7, "x": 1}) + "\n" + rest)
    if name == "plan.json":
        file.write_text(json.dumps({"schema": 7}))
        seal(folder)
    assert first
    with pytest.raises(UserError, match="schema 7"):
        load(study.folder)


def test_doubled_bandwidths_are_refused_whatever_the_schema_says(make_study: MakeStudy) -> None:
    study = make_study()
    study.launch(0, "alpha", "bw", {8: 1.0})
    file = study.write() / "records.jsonl"
    first, *rest = file.read_bytes().splitlines(keepends=True)
    doubled = [json.loads(line) for line in rest]
    for line in doubled:
        line["samples"] = [2 * sample for sample in line.get("samples", [])]
    changed = b"".join(json.dumps(line).encode() + b"\n" for line in doubled)
    for schema, why in ((4, "has schema 4"), (5, "was changed after")):
        file.write_bytes(first.replace(b'"schema":5', f'"schema":{schema}'.encode()) + changed)
        with pytest.raises(UserError, match=why):
            load(study.folder)


def test_folders_that_hold_no_study(make_study: MakeStudy, tmp_path: Any) -> None:
    with pytest.raises(UserError, match=r"no records.jsonl there"):
        load(tmp_path)
    study = make_study()
    with pytest.raises(UserError, match="no launch was recorded"):
        load(study.write())
    (study.folder / "records.jsonl").write_bytes(b"")
    with pytest.raises(UserError, match="no launch was recorded"):
        load(study.folder)


@pytest.mark.parametrize("name", ["plan.json", "machine.json"])
def test_files_missing_or_damaged(make_study: MakeStudy, name: str) -> None:
    study = make_study()
    study.launch(0, "alpha", "bw", {8: 1.0})
    file = study.write() / name
    file.write_text('{"schema": 4}' if name == "plan.json" else "{}")
    with pytest.raises(UserError, match=re.escape(name) + " is damaged"):
        load(study.folder)
    seal(study.folder)
    with pytest.raises(UserError, match=re.escape(name) + ": damaged"):
        load(study.folder)
    file.unlink()
    with pytest.raises(UserError, match=f"no {re.escape(name)} there"):
        load(study.folder)


def test_a_machine_of_another_schema_is_refused(make_study: MakeStudy) -> None:
    study = make_study()
    study.launch(0, "alpha", "bw", {8: 1.0})
    file = study.write() / "machine.json"
    plain = msgspec.json.decode(file.read_bytes())
    for schema in (1, 3):
        file.write_bytes(msgspec.json.encode({**plain, "schema": schema}))
        seal(study.folder)
        said = f"machine.json: schema {schema}, this nearpeak reads schema 2: use the nearpeak"
        with pytest.raises(UserError, match=said):
            load(study.folder)


def test_records_of_a_launch_that_never_began(make_study: MakeStudy) -> None:
    study = make_study()
    study.launch(0, "alpha", "bw", {8: 1.0})
    study.end(5, "ok")
    with pytest.raises(UserError, match="launch 5, which never began"):
        load(study.write())


def test_errors_are_one_line(make_study: MakeStudy) -> None:
    study = make_study()
    with pytest.raises(UserError) as error:
        load(study.write())
    assert "\n" not in str(error.value)


def test_a_launch_that_crashed_stays_crashed_though_its_data_was_wrong_before(
    make_study: MakeStudy,
) -> None:
    study = make_study()
    for block, status in enumerate(("ok", "crashed")):
        launch = study.launch(block, "alpha", status=None)
        study.problem(launch, "bw", 8, "wrong data")
        study.end(launch, status, "" if status == "ok" else "ended by SIGSEGV")
    assert [known.status for known in load(study.write()).launches] == ["wrong data", "crashed"]
