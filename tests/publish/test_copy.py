# SPDX-License-Identifier: Apache-2.0
"""Copies of what was recorded: nothing private is left in them, and they give the same figures."""

import json
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import made_nodes
import msgspec
import numpy as np
import pytest

from nearpeak.compare.build import compare
from nearpeak.compare.load import load_side
from nearpeak.conform import journal as conforming
from nearpeak.conform.build import build as build_conformance
from nearpeak.errors import UserError
from nearpeak.findings.build import build_results
from nearpeak.launching.fingerprints import settings_digest
from nearpeak.libraries.library import Settings
from nearpeak.machine.machine import Machine, Nic
from nearpeak.nodes import journal as pairing
from nearpeak.publish import copy
from nearpeak.publish.copy import NAME, publish
from nearpeak.results.build import to_json
from nearpeak.study.folder import reopen
from nearpeak.study.journal import read_records
from nearpeak.study.records import SessionRecord, StudyRecord
from nearpeak.study.seal import Seal, file_digests
from nearpeak.trace.trace import SCHEMA, Ceiling, Entry, Rank, Trace
from nearpeak.tune import journal as tuning
from planted import PLANTED

EXAMPLES = Path(__file__).parents[2] / "examples"
# What the machine of a recorded study is known by, and the stand-ins that are in kept recordings.
PRIVATE = {
    "host1": "n17",
    "gpu1": "GPU-8c5ce155-2c39-368f-17a5-f64ef3d11861",
    "gpu2": "GPU-99001a4d-7824-7bae-1ac1-d36ba2f6959d",
    "address1": "192.0.2.2",
    "address2": "fd00::2",
    "dir2": "apollo",
}


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(file.relative_to(folder)): file.read_bytes()
        for file in sorted(folder.rglob("*"))
        if file.is_file()
    }


def figures(folder: Path) -> Any:
    """All numbers of the results, in order."""

    def numbers(value: Any) -> Any:
        if isinstance(value, dict):
            return [numbers(each) for each in value.values()]
        if isinstance(value, list):
            return [numbers(each) for each in value]
        return value if isinstance(value, int | float) else None

    return numbers(json.loads(to_json(build_results(folder))))


def with_private_names(example: str, folder: Path) -> Path:
    """A copy of a recording that was published, with private names in place of its stand-ins."""

    def named(data: bytes) -> bytes:
        for stand_in, name in PRIVATE.items():
            data = re.sub(rf"\b{stand_in}\b".encode(), name.encode(), data)
        return data

    records = list(read_records(EXAMPLES / example))
    assert isinstance(records[0], StudyRecord)
    for file, data in contents(EXAMPLES / example).items():
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_bytes(named(data))
    records[0].published, records[0].files = None, file_digests(folder)
    seal, lines = Seal(), []
    for record in records:
        lines.append(seal.line(record, lambda one: named(msgspec.json.encode(one, enc_hook=str))))
        seal.take(lines[-1])
    (folder / "records.jsonl").write_bytes(b"".join(lines))
    return folder


@pytest.mark.parametrize("example", ["h200x2-shipped", "h200x2-shipped-tuned"])
def test_a_recorded_study(example: str, tmp_path: Path) -> None:
    private, out = with_private_names(example, tmp_path / "private"), tmp_path / "public"
    summary = publish(private, out)
    whole = b"\n".join(contents(out).values()).decode()
    original = b"\n".join(contents(private).values()).decode()
    for name in PRIVATE.values():
        alone = re.compile(rf"(?<![A-Za-z0-9_]){re.escape(name)}(?![A-Za-z0-9_])")
        assert alone.search(original), name
        assert not alone.search(whole), name
    assert {"host", "gpu", "address"} <= {each.kind for each in summary.replaced}
    assert figures(out) == figures(private)
    kept = {name for name in contents(private) if name.startswith(("explained/", "tune."))}
    assert kept  # of the first its explanations, of the second the search
    assert kept <= set(contents(out))


def test_a_search_for_settings_is_read_as_before(tmp_path: Path) -> None:
    private = with_private_names("h200x2-shipped-tuned", tmp_path / "private")
    publish(private, tmp_path / "public")
    before, after = (tuning.read(folder) for folder in (private, tmp_path / "public"))
    first, now = before[0], after[0]
    assert isinstance(first, tuning.Begin)
    assert isinstance(now, tuning.Begin)
    assert (first.host, now.host) == ("n17", "host1")
    assert [getattr(each, "values", None) for each in before] == [
        getattr(each, "values", None) for each in after
    ]


LEAKS = ("carol", "dora", "n17", "al ice", "apollo", "10.9.8.7", "example.org", "gpfs", "QX-81722")


@pytest.fixture
def odd(make_study: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> Path:
    """A study with private names in every kind of place."""
    study = make_study("one", "two")
    made = sys.modules["made_study"]
    machine: Machine = made.make_machine()
    monkeypatch.setattr(
        made,
        "make_machine",
        lambda: msgspec.structs.replace(
            machine,
            hostname="n17.hpc.example.org",
            nics=[
                Nic(
                    name="ib0",
                    kind="infiniband",
                    numa_node=0,
                    rate_gbs=None,
                    addresses=["10.9.8.7"],
                )
            ],
            gpu_notes=["n17: GPU 3 (serial number QX-81722) fell off the bus"],
        ),
    )
    for block in range(6):
        for name in study.libraries:
            study.launch(block, name, "bw", {1024: 1.0 + block / 100})
        study.ceiling(block, {("bw", "flag", 1024): 2.0})
    failed = study.launch(5, "one", "latency", status=None, environment={"UCX_LOG": "/gpfs/x/log"})
    study.end(
        failed, "crashed", "ssh carol@n17: /home/carol/a.out: ::ffff:10.9.8.7 refused dora@n18"
    )
    plan = study.plan()
    contenders = [
        msgspec.structs.replace(
            each,
            library=msgspec.structs.replace(
                each.library,
                prefix=Path("/home/carol/al ice/mpi"),
                launcher=Path("/home/carol/al ice/mpi/bin/mpirun"),
            ),
            settings=Settings(name="default", env={"MPICH_TUNING": "/gpfs/apollo/t.json"}),
        )
        for each in plan.contenders
    ]
    grown = msgspec.structs.replace(
        plan, contenders=contenders, remote_shell="/home/carol/bin/ssh-apollo", hosts=["n17", "n18"]
    )
    monkeypatch.setattr(study, "plan", lambda: grown)
    digest = settings_digest(contenders[0].settings)
    for record in study.records:
        if isinstance(record, SessionRecord):
            record.fingerprint.library.update(
                {
                    "one@default settings": digest,
                    "one path": "/home/carol/al ice/mpi/lib/libmpi.so.12",
                }
            )
            record.fingerprint.machine["host"] = "n17"
    folder: Path = study.write()
    (folder / "logs").mkdir()
    (folder / "logs" / "1.txt").write_bytes(b"carol on n17.hpc.example.org \xff\n")
    return folder


def test_no_planted_secret_is_in_a_copy_or_its_report(
    make_study: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each stands in a setting, as the user gave it, and in what a program said of it."""
    study = make_study("one", "two")
    study.launch(0, "one", "bw", {1024: 1.0})
    failed = study.launch(1, "one", "latency", status=None)
    said = [f"{name}={value}" for name, value, _ in PLANTED]
    study.end(failed, "crashed", "; ".join(said))
    plan = study.plan()
    contenders = [
        msgspec.structs.replace(
            plan.contenders[0],
            settings=Settings(
                name="default",
                env={
                    f"{name}{'_' * number}": value
                    for number, (name, value, _) in enumerate(PLANTED)
                },
            ),
        ),
        *plan.contenders[1:],
    ]
    grown = msgspec.structs.replace(plan, contenders=contenders)
    monkeypatch.setattr(study, "plan", lambda: grown)
    publish(study.write(), tmp_path / "public")
    found = b"\n".join(contents(tmp_path / "public").values()).decode()
    found += to_json(build_results(tmp_path / "public"))
    assert [secret for _, _, secret in PLANTED if secret in found] == []


def test_a_secret_of_an_older_recording_goes_from_messages_too(
    make_study: Callable[..., Any], tmp_path: Path
) -> None:
    """Records withhold it when they are read, so that only their lines have it."""
    study = make_study("one")
    study.launch(0, "one", "bw", {1024: 1.0}, environment={"UCX_AUTH": "MADE-UP"})
    study.end(study.launch(1, "one", "latency", status=None), "crashed", "refused planted-1")
    folder = study.write()
    file = folder / "records.jsonl"
    seal, lines = Seal(), []
    for record in read_records(folder):
        line = seal.line(record, lambda one: msgspec.json.encode(one, enc_hook=str))
        lines.append(line.replace(b'"(withheld)"', b'"planted-1"'))
        seal.take(lines[-1])
    file.write_bytes(b"".join(lines))
    assert file.read_bytes().count(b"planted-1") == 2
    publish(folder, tmp_path / "public")
    assert b"planted-1" not in contents(tmp_path / "public")["records.jsonl"]


def test_names_in_odd_places(odd: Path, tmp_path: Path) -> None:
    publish(odd, tmp_path / "public", logs=True, hidden=["apollo"])
    found = contents(tmp_path / "public")
    assert all(any(leak.encode() in data for data in contents(odd).values()) for leak in LEAKS)
    assert [leak for leak in LEAKS if any(leak.encode() in data for data in found.values())] == []
    assert found["logs/1.txt"] == b"user1 on host1 \xff\n"
    assert b'"remote_shell": "/home/user1/bin/dir' in found["plan.json"]
    assert b"ssh user1@host1: /home/user1/dir" in found["records.jsonl"]
    assert figures(tmp_path / "public") == figures(odd)


@pytest.mark.parametrize("host", ["bw", "one", "default", "host", "ok", "samples"])
def test_a_host_that_is_called_like_something_else(
    make_study: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, host: str
) -> None:
    study = make_study("one", "two")
    made = sys.modules["made_study"]
    machine = msgspec.structs.replace(made.make_machine(), hostname=host)
    monkeypatch.setattr(made, "make_machine", lambda: machine)
    for block in range(6):
        for name in study.libraries:
            study.launch(block, name, "bw", {1024: 1.0 + block / 100})
        study.ceiling(block, {("bw", "flag", 1024): 2.0})
    publish(study.write(), tmp_path / "public")
    assert json.loads(contents(tmp_path / "public")["machine.json"])["hostname"] == "host1"
    assert figures(tmp_path / "public") == figures(study.folder)


def test_the_digests_of_settings_are_those_of_the_copy(odd: Path, tmp_path: Path) -> None:
    publish(odd, tmp_path / "public")
    plan = json.loads((tmp_path / "public" / "plan.json").read_bytes())
    digest = settings_digest(msgspec.convert(plan["contenders"][0]["settings"], Settings))
    sessions = [
        each for each in read_records(tmp_path / "public") if isinstance(each, SessionRecord)
    ]
    assert {each.fingerprint.library["one@default settings"] for each in sessions} == {digest}


def test_the_same_again_gives_the_same_bytes(odd: Path, tmp_path: Path) -> None:
    first = publish(odd, tmp_path / "a")
    assert publish(odd, tmp_path / "b") == first
    assert contents(tmp_path / "a") == contents(tmp_path / "b")
    assert json.loads((tmp_path / "a" / NAME).read_bytes()) == msgspec.to_builtins(first)


def test_a_copy_can_be_published(odd: Path, tmp_path: Path) -> None:
    publish(odd, tmp_path / "a")
    publish(tmp_path / "a", tmp_path / "b")
    both = contents(tmp_path / "a"), contents(tmp_path / "b")
    assert both[0]["machine.json"] == both[1]["machine.json"]
    assert both[0]["records.jsonl"] == both[1]["records.jsonl"]


def test_a_copy_says_so_and_is_not_gone_on_with(odd: Path, tmp_path: Path) -> None:
    publish(odd, tmp_path / "public")
    first = next(read_records(tmp_path / "public"))
    assert isinstance(first, StudyRecord)
    assert first.published is not None
    assert not first.published.logs
    assert b"logs/" not in contents(tmp_path / "public")["records.jsonl"]
    with pytest.raises(UserError, match="is a published copy"):
        reopen(tmp_path / "public")
    [original] = [each for each in read_records(odd) if isinstance(each, StudyRecord)]
    assert original.published is None


def test_a_changed_copy_is_refused(odd: Path, tmp_path: Path) -> None:
    publish(odd, tmp_path / "public")
    file = tmp_path / "public" / "records.jsonl"
    file.write_bytes(file.read_bytes().replace(b'"seconds":1.0', b'"seconds":2.0', 1))
    with pytest.raises(UserError, match="was changed after"):
        build_results(tmp_path / "public")


def test_compare_knows_a_copy_of_a_study(odd: Path, tmp_path: Path) -> None:
    publish(odd, tmp_path / "public")
    with pytest.raises(UserError, match="are the same study"):
        compare(load_side([odd]), load_side([tmp_path / "public"]), 0.05)


def test_a_folder_of_tune(odd: Path, tmp_path: Path) -> None:
    """Its journal, and the study that confirms."""
    folder = tmp_path / "tuned"
    folder.mkdir()
    odd.rename(folder / "study")
    (folder / tuning.NAME).write_bytes(
        (EXAMPLES / "h200x2-shipped-tuned" / tuning.NAME).read_bytes()
    )
    publish(folder, tmp_path / "public")
    assert set(contents(tmp_path / "public")) == {
        NAME,
        tuning.NAME,
        *(f"study/{name}" for name in ("machine.json", "plan.json", "records.jsonl")),
    }


CONFORM = EXAMPLES / "conform" / "h200x2"


def sealed(lines: list[dict[str, Any]]) -> bytes:
    """A file of these lines, each with a seal that is right."""
    for line in lines:
        line.pop("seal", None)
    return conforming.FORM.encode(lines)


@pytest.fixture
def tried(tmp_path: Path) -> Path:
    """A recorded conformance run, with private names in every kind of place."""
    folder = tmp_path / "tried"
    shutil.copytree(CONFORM, folder, ignore=shutil.ignore_patterns("conform.html"))
    lines = [json.loads(line) for line in (folder / "conform.jsonl").read_bytes().splitlines()]
    lines[0]["published"] = None
    lines[0]["host"] = "n17.hpc.example.org"
    lines[0]["chosen"]["libraries"] = ["/gpfs/apollo/mpi"]
    [one, *_] = (line["outcome"] for line in lines if line["record"] == "outcome")
    one["message"] = "n17: carol@10.9.8.7 refused"
    one["command"] = one["command"].replace("/tmp/nearpeak-bundle", "/home/carol/al\\ ice")
    whole = json.dumps(lines).replace("/tmp/dir2/", "/home/carol/c/")
    (folder / "conform.jsonl").write_bytes(sealed(json.loads(whole)))
    old = folder / "cases" / "intel-get-D,D-plain-0-churn.txt"
    old.rename(old.with_name("apollo-get-D,D-plain-0-churn.txt"))
    return folder


def outcomes(folder: Path) -> Any:
    """What a conformance run found, without texts in which names may stand."""
    return [
        (library.label, library.version, outcome.case, outcome.status, outcome.got, outcome.seconds)
        for library in build_conformance(conforming.read(folder)).libraries
        for outcome in library.outcomes
    ]


def test_a_conformance_run(tried: Path, tmp_path: Path) -> None:
    publish(tried, tmp_path / "public", hidden=["apollo"])
    found = contents(tmp_path / "public")
    leaks = ["carol", "n17", "al\\\\ ice", "apollo", "10.9.8.7", "example.org", "gpfs"]
    files = [(name.encode() + data) for name, data in contents(tried).items()]
    assert [leak for leak in leaks if not any(leak.encode() in data for data in files)] == []
    copied = [(name.encode() + data) for name, data in found.items()]
    assert [leak for leak in leaks if any(leak.encode() in data for data in copied)] == []
    assert outcomes(tmp_path / "public") == outcomes(tried)
    assert "cases/word1-get-D,D-plain-0-churn.txt" in found
    [named, *_] = re.findall(
        rb"--cases /\S+/(cases/intel-put_bw-D,D-plain-0-leak.txt)", found["conform.jsonl"]
    )
    assert named.decode() in found


@pytest.mark.parametrize("host", ["latency", "plain", "data", "intel", "host"])
def test_a_host_that_is_called_like_a_word_of_conformance(
    tried: Path, tmp_path: Path, host: str
) -> None:
    file = tried / "conform.jsonl"
    whole = file.read_text().replace("n17.hpc.example.org", host, 1)
    file.write_bytes(sealed([json.loads(line) for line in whole.splitlines()]))
    publish(tried, tmp_path / "public")
    begin = conforming.read(tmp_path / "public")[0]
    assert isinstance(begin, conforming.Begin)
    assert begin.host == "host1"
    cases = [each[2:] for each in outcomes(tmp_path / "public")]
    assert cases == [each[2:] for each in outcomes(tried)]


def test_a_copy_of_a_conformance_run_is_not_gone_on_with(tried: Path, tmp_path: Path) -> None:
    publish(tried, tmp_path / "public")
    with pytest.raises(UserError, match="is a published copy"):
        conforming.ConformJournal(tmp_path / "public")
    conforming.ConformJournal(tried).close()


def test_a_run_of_all_pairs_of_nodes(tmp_path: Path) -> None:
    nodes = [f"gn{number:02}.hpc.example.org" for number in range(5)]
    asked = pairing.Chosen(nodes=nodes, mpi="made", remote_shell="/home/carol/rsh")
    made_nodes.record(tmp_path / "run", asked, lambda pairs, _: 2 * (np.ones(len(pairs)),))
    publish(tmp_path / "run", tmp_path / "public")
    found = contents(tmp_path / "public")
    leaks = [b"gn0", b"example", b"carol"]
    assert [leak for leak in leaks if any(leak in data for data in found.values())] == []
    before, after = pairing.read(tmp_path / "run"), pairing.read(tmp_path / "public")
    assert after.begin.published
    assert len(set(after.begin.chosen.nodes)) == len(nodes)
    assert repr(after.launches) == repr(before.launches)
    with pytest.raises(UserError, match="is a published copy"):
        pairing.NodesJournal(tmp_path / "public")


def test_a_trace(tmp_path: Path) -> None:
    rank = Rank(
        rank=0,
        host="n17.hpc.example.org",
        process=4,
        run_seconds=2.0,
        mpi_seconds=1.0,
        threads=1,
        finalized=True,
        world=1,
        launched=1,
        calls=3,
        bytes=24,
        waiting_seconds=0.5,
    )
    entry = Entry(
        operation="MPI_Send",
        size_bytes=8,
        memory="host",
        peer="same host",
        calls=3,
        bytes=24,
        seconds=0.5,
        longest_seconds=0.3,
    )
    trace = Trace(
        schema=SCHEMA,
        nearpeak="0.1.0",
        command=["mpirun", "--host", "n17,n18", "/home/carol/apollo/app", "--log=10.9.8.7"],
        library="intel 2021.19.0.1",
        exit_status=0,
        expected=1,
        missing=[],
        wall_seconds=2.0,
        ranks=[rank, msgspec.structs.replace(rank, host="n18")],
        entries=[entry],
        ceilings=[
            Ceiling(
                entry=0, path="host-host same-numa", size_bytes=8, seconds=0.1, saved_seconds=0.2
            )
        ],
    )
    file = tmp_path / "apollo.json"
    file.write_bytes(msgspec.json.encode(trace))
    publish(file, tmp_path / "public", hidden=["apollo"])
    assert set(contents(tmp_path / "public")) == {NAME, "trace.json"}
    copied = msgspec.json.decode((tmp_path / "public" / "trace.json").read_bytes(), type=Trace)
    assert copied.command == [
        "mpirun",
        "--host",
        "host1,host2",
        "/home/user1/word1/dir1",
        "--log=address1",
    ]
    assert [each.host for each in copied.ranks] == ["host1", "host2"]
    assert (copied.entries, copied.ceilings) == (trace.entries, trace.ceilings)
    assert copied.library == trace.library


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"{", "is no trace"),
        (b"{}", "is no trace"),
        (b'{"nearpeak":"\xff"}', "is no trace"),
        (b'{"z":' + 100_000 * b"[", "is no trace"),
        (None, "there is no study in"),
    ],
)
def test_a_file_that_is_no_trace(tmp_path: Path, text: bytes | None, message: str) -> None:
    file = tmp_path / "trace.json"
    if text is not None:
        file.write_bytes(text)
    with pytest.raises(UserError, match=message):
        publish(file, tmp_path / "public")
    assert not (tmp_path / "public").exists()


def no_study(folder: Path) -> None:
    (folder / "plan.json").unlink()


def damaged(folder: Path) -> None:
    file = folder / "records.jsonl"
    file.write_bytes(file.read_bytes().replace(b'"block":0', b'"block":1', 1))


def no_machine(folder: Path) -> None:
    (folder / "machine.json").unlink()


def bad_plan(folder: Path) -> None:
    (folder / "plan.json").write_text("{")


def bad_explanation(folder: Path) -> None:
    (folder / "explained").mkdir()
    (folder / "explained" / "001.json").write_text("{}")


def bad_search(folder: Path) -> None:
    (folder / "tune.jsonl").write_text('{"record":"tune"}\n')


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (no_study, "there is no study in .*: give the folder"),
        (damaged, "cannot be believed"),
        (no_machine, "no machine.json there"),
        (bad_plan, "plan.json is damaged"),
        (bad_explanation, "001.json cannot be read"),
        (bad_search, "tune.jsonl cannot be believed"),
    ],
)
def test_what_cannot_be_read_leaves_nothing(
    odd: Path, tmp_path: Path, spoil: Callable[[Path], None], message: str
) -> None:
    spoil(odd)
    with pytest.raises(UserError, match=message):
        publish(odd, tmp_path / "public")
    assert not (tmp_path / "public").exists()


def test_nothing_is_written_over(odd: Path, tmp_path: Path) -> None:
    (tmp_path / "public").mkdir()
    (tmp_path / "public" / "mine").write_text("")
    with pytest.raises(UserError, match="is not empty"):
        publish(odd, tmp_path / "public")
    assert contents(tmp_path / "public") == {"mine": b""}


def test_a_full_disk_leaves_nothing(
    odd: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(file: Path, data: bytes) -> None:
        if file.name == NAME:
            raise OSError(28, "No space left on device")
        file.write_bytes(data)

    monkeypatch.setattr(copy, "put_whole", full)
    before = set(tmp_path.iterdir())
    with pytest.raises(UserError, match="No space left on device"):
        publish(odd, tmp_path / "public")
    assert set(tmp_path.iterdir()) == before
