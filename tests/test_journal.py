# SPDX-License-Identifier: Apache-2.0
"""A journal: whole lines, one writer; what is kept when a disk is full or a writer killed."""

import errno
import os
import pkgutil
import resource
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from nearpeak.errors import UserError
from nearpeak.journal import (
    CannotWriteError,
    Form,
    Journal,
    RunJournal,
    cannot_write,
    whole_lines,
)
from nearpeak.machine import allocation
from nearpeak.runs.lifecycle import interruptible
from nearpeak.signals import handled

RESUME = "nearpeak study --resume -o here"
# Takes the lock, writes a line and a half, says so and waits to be killed.
HOLDER = """
import os, sys, time
from pathlib import Path
from nearpeak.journal import Journal
file = Path(sys.argv[1])
journal = Journal(file, "again")
journal.append(b"whole\\n", sync=True)
with file.open("ab") as half:
    half.write(b"ha")
print("held", flush=True)
time.sleep(600)
"""


class Begin(msgspec.Struct, tag_field="record", tag="begin"):
    schema: int = 1


class Step(msgspec.Struct, tag_field="record", tag="step"):
    number: int


FORM = Form[Begin, Begin | Step](
    name="lines", schema=1, command="run", whose="a run", first=Begin, lines=Begin | Step
)


def open_here(folder: Path) -> Journal:
    return Journal(folder / "lines", RESUME)


def lines(folder: Path) -> list[bytes]:
    return list(whole_lines(folder / "lines"))


def test_what_another_process_holds_is_refused_and_its_half_line_cut_off_after_its_end(
    tmp_path: Path,
) -> None:
    argv = [sys.executable, "-c", HOLDER, str(tmp_path / "lines")]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(UserError) as error:
            open_here(tmp_path)
        assert str(error.value) == (
            f"another nearpeak is writing into {tmp_path}: wait for it, or choose another with -o"
        )
        holder.send_signal(signal.SIGKILL)
    assert (tmp_path / "lines").read_bytes() == b"whole\nha"
    assert lines(tmp_path) == [b"whole\n"]
    journal = open_here(tmp_path)
    journal.append(b"more\n")
    journal.close()
    assert (tmp_path / "lines").read_bytes() == b"whole\nmore\n"


def test_two_in_one_process_exclude_each_other_too(tmp_path: Path) -> None:
    journal = open_here(tmp_path)
    with pytest.raises(UserError, match="another nearpeak is writing into"):
        open_here(tmp_path)
    journal.close()
    open_here(tmp_path).close()


def test_what_another_wrote_before_the_lock_was_had_is_known(
    tmp_path: Path, before_the_lock: Callable[[Callable[[], object]], None]
) -> None:
    RunJournal(FORM, tmp_path, Begin()).close()
    file, line = tmp_path / "lines", msgspec.json.encode(Step(1)) + b"\n"
    before_the_lock(lambda: file.write_bytes(file.read_bytes() + line))
    journal = RunJournal(FORM, tmp_path)
    assert journal.records == [Begin(), Step(1)]
    journal.close()


def test_a_run_that_another_began_before_the_lock_was_had_is_not_written_over(
    tmp_path: Path, before_the_lock: Callable[[Callable[[], object]], None]
) -> None:
    file, line = tmp_path / "lines", msgspec.json.encode(Begin()) + b"\n"
    before_the_lock(lambda: file.write_bytes(line))
    with pytest.raises(UserError, match="has a lines already: complete it with --resume"):
        RunJournal(FORM, tmp_path, Begin())
    assert file.read_bytes() == line
    RunJournal(FORM, tmp_path).close()  # the lock was given back
    before_the_lock(lambda: file.write_bytes(b"{}\n"))
    with pytest.raises(UserError, match="cannot be believed"):
        RunJournal(FORM, tmp_path)
    open_here(tmp_path).close()  # and again


@pytest.mark.parametrize("code", [errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP])
def test_a_file_system_without_locks_has_one_writer_too(
    tmp_path: Path, without_flock: Callable[[int], None], code: int
) -> None:
    without_flock(code)
    journal = open_here(tmp_path)
    with pytest.raises(UserError, match=rf"another nearpeak .*process {os.getpid()} of"):
        open_here(tmp_path)
    journal.append(b"one\n")
    journal.close()
    open_here(tmp_path).close()
    assert lines(tmp_path) == [b"one\n"]
    assert [each.name for each in tmp_path.iterdir()] == ["lines"]


def test_what_another_has_written_ends_a_writer(tmp_path: Path) -> None:
    journal = open_here(tmp_path)
    journal.append(b"one\n")
    with (tmp_path / "lines").open("ab") as other:
        other.write(b"another\n")
    with pytest.raises(CannotWriteError) as error:
        journal.append(b"two\n")
    assert str(error.value) == (
        f"another process has written into {tmp_path}, which must have one nearpeak alone: let the"
        f" other end, then `{RESUME}` completes it"
    )
    assert lines(tmp_path) == [b"one\n", b"another\n"]


def test_a_damaged_tail_is_put_aside(tmp_path: Path) -> None:
    journal = open_here(tmp_path)
    for line in (b"one\n", b"two\n", b"three\n"):
        journal.append(line)
    first, second = journal.put_aside(8), journal.put_aside(4)
    assert (first.name, first.read_bytes()) == ("lines.damaged-1", b"three\n")
    assert (second.name, second.read_bytes()) == ("lines.damaged-2", b"two\n")
    journal.append(b"more\n")
    journal.close()
    assert lines(tmp_path) == [b"one\n", b"more\n"]


def test_lines_are_not_written_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("text")
    (tmp_path / "lines").symlink_to("precious")
    with pytest.raises(UserError, match="cannot write into"):
        Journal(tmp_path / "lines", RESUME)
    assert (tmp_path / "precious").read_text() == "text"


def test_a_folder_that_cannot_be_written_is_bad_input(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="choose another folder"):
        open_here(tmp_path / "missing")


@pytest.mark.parametrize("sync", [False, True])
def test_what_is_synced_is_on_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sync: bool
) -> None:
    synced: list[Path] = []
    monkeypatch.setattr(
        os, "fsync", lambda file: synced.append(Path(f"/proc/self/fd/{file}").readlink())
    )
    journal = open_here(tmp_path)
    journal.append(b"one\n", sync=sync)
    journal.close()
    assert synced == [tmp_path, *([tmp_path / "lines"] if sync else [])]


def test_a_line_that_is_taken_in_pieces_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.write
    monkeypatch.setattr(os, "write", lambda file, data: real(file, bytes(data)[:7]))
    journal = open_here(tmp_path)
    journal.append(b"longer than seven\n")
    journal.close()
    assert lines(tmp_path) == [b"longer than seven\n"]


def test_a_line_that_does_not_fit_is_taken_back(tmp_path: Path) -> None:
    journal = open_here(tmp_path)
    journal.append(b"first\n")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, before[1]))
    try:
        with pytest.raises(CannotWriteError) as error:
            journal.append(b"second\n")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert str(error.value) == (
        f"{tmp_path} cannot be written (File too large): make it writable, then `{RESUME}` "
        "completes it"
    )
    assert (tmp_path / "lines").read_bytes() == b"first\n"
    journal.append(b"third\n")  # there is room again
    journal.close()
    assert lines(tmp_path) == [b"first\n", b"third\n"]


def test_one_that_cannot_be_taken_back_is_cut_off_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = open_here(tmp_path)
    journal.append(b"first\n")
    real, room = os.write, [3, 0]

    def fail(*_: Any) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def write_some(file: int, data: Any) -> int:
        left = room.pop(0)
        return real(file, bytes(data)[:left]) if left else fail()

    with monkeypatch.context() as broken:
        broken.setattr(os, "write", write_some)
        broken.setattr(os, "ftruncate", fail)
        with pytest.raises(CannotWriteError, match="no space is left"):
            journal.append(b"second\n")
    journal.close()
    assert (tmp_path / "lines").read_bytes() == b"first\nsec"
    open_here(tmp_path).close()
    assert (tmp_path / "lines").read_bytes() == b"first\n"


@pytest.mark.parametrize("error", [None, OSError(errno.ENOSPC, ""), OSError(errno.EDQUOT, "")])
def test_a_full_disk_before_anything_is_begun(error: OSError | None) -> None:
    assert str(cannot_write(Path("here"), error, "")) == (
        "no space is left for here: free some, then start again"
    )


def test_a_run_whose_first_line_does_not_fit_is_started_again(tmp_path: Path) -> None:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (3, before[1]))
    try:
        with pytest.raises(CannotWriteError, match=r"make it writable, then start again$"):
            RunJournal(FORM, tmp_path, Begin())
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    RunJournal(FORM, tmp_path, Begin()).close()


@pytest.mark.parametrize("error", [None, OSError(errno.ENOSPC, ""), OSError(errno.EDQUOT, "")])
def test_a_full_disk_says_what_to_do(error: OSError | None) -> None:
    assert str(cannot_write(Path("here"), error, RESUME)) == (
        f"no space is left for here: free some, then `{RESUME}` completes it"
    )


SEALED = Form[Begin, Begin | Step](
    name="lines",
    schema=1,
    command="run",
    whose="a run",
    first=Begin,
    lines=Begin | Step,
    sealed=True,
)


def sealed_run(folder: Path, steps: int) -> list[bytes]:
    journal = RunJournal(SEALED, folder, Begin())
    for number in range(steps):
        journal.append(Step(number))
    journal.close()
    return lines(folder)


def test_a_line_that_is_nested_too_deeply_is_named(tmp_path: Path) -> None:
    nested = b'{"record":"step","z":' + 100_000 * b"[" + b"\n"
    (tmp_path / "lines").write_bytes(b'{"record":"begin"}\n' + nested)
    with pytest.raises(UserError, match=r"cannot be believed \(line 2: maximum recursion depth"):
        FORM.read(tmp_path)


def test_a_sealed_run_is_read_and_gone_on_with(tmp_path: Path) -> None:
    written = sealed_run(tmp_path, 2)
    assert all(line.count(b'"seal":"') == 1 for line in written)
    journal = RunJournal(SEALED, tmp_path)
    journal.interrupt("so")
    journal.append(Step(2))
    journal.close()
    assert SEALED.read(tmp_path) == [Begin(), Step(0), Step(1), Step(2)]
    assert SEALED.encode([Begin(), Step(0), Step(1)]) == b"".join(written)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("during", ["os.fsync", "nearpeak.journal._Chain.take"])
def test_a_signal_while_a_line_is_written_comes_after_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, during: str, number: signal.Signals
) -> None:
    monkeypatch.setattr(allocation, "why_ending", lambda: None)
    journal = RunJournal(SEALED, tmp_path, Begin())
    real = pkgutil.resolve_name(during)

    now = threading.Event()

    def take_signal() -> None:  # any thread of a process may
        now.wait()
        signal.raise_signal(number)

    thread = threading.Thread(target=take_signal)
    thread.start()

    def signalled(*arguments: Any) -> None:
        now.set()
        thread.join()
        real(*arguments)

    # Where tests run in the background of a shell, SIGINT is ignored.
    with (
        handled([signal.SIGINT], signal.default_int_handler),
        interruptible(journal, lambda _: None) as interruption,
        monkeypatch.context() as patched,
    ):
        patched.setattr(during, signalled)
        journal.append(Step(0))
        pytest.fail("the signal was lost")
    assert interruption.signal == number
    assert journal.records == [Begin(), Step(0)]
    journal.close()
    assert lines(tmp_path)[-1].startswith(b'{"record":"interrupted"')
    assert SEALED.read(tmp_path) == [Begin(), Step(0)]


@pytest.mark.parametrize("damage", ["changed", "dropped", "swapped", "garbage", "unsealed"])
def test_a_damaged_run_goes_back_to_what_can_be_believed(
    tmp_path: Path, damage: str, capsys: pytest.CaptureFixture[str]
) -> None:
    good, written = 3, sealed_run(tmp_path, 5)
    tail = written[good:]
    match damage:
        case "changed":
            tail[0] = tail[0].replace(b'"number":2', b'"number":9')
        case "dropped":
            del tail[0]
        case "swapped":
            tail.reverse()
        case "garbage":
            tail.insert(0, b"\xff\n")
        case _:
            tail[0] = b'{"record":"step","number":2}\n'
    file = tmp_path / "lines"
    file.write_bytes(b"".join([*written[:good], *tail]))
    with pytest.raises(UserError, match=rf"line {good + 1}: .*nearpeak run --resume .* goes back"):
        SEALED.read(tmp_path)
    journal = RunJournal(SEALED, tmp_path)
    assert journal.records == [Begin(), Step(0), Step(1)]
    journal.append(Step(2))
    journal.close()
    assert (tmp_path / "lines.damaged-1").read_bytes() == b"".join(tail)
    assert capsys.readouterr().err.count("the rest is kept in") == 1
    assert SEALED.read(tmp_path)[-1] == Step(2)


def test_a_run_whose_first_line_is_damaged_is_refused(tmp_path: Path) -> None:
    written = sealed_run(tmp_path, 1)
    content = written[0].replace(b"1", b"2", 1) + written[1]
    (tmp_path / "lines").write_bytes(content)
    with pytest.raises(UserError, match="start anew in another folder"):
        RunJournal(SEALED, tmp_path)
    assert (tmp_path / "lines").read_bytes() == content
