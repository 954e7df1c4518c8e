# SPDX-License-Identifier: Apache-2.0
"""`nearpeak layer`: the variables, and the command that it becomes."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from nearpeak.cli import layer
from nearpeak.cli.layer import REACHED
from nearpeak.errors import UserError
from nearpeak.explain import ways
from nearpeak.launching import single
from nearpeak.launching.single_launch import LaunchFailed
from nearpeak.libraries import build, discover
from nearpeak.observations.ways import Leg, Step, Ways

Nearpeak = Callable[..., tuple[int, str, str]]
BUILT = "/cache/the'layer.so"


@pytest.fixture
def made(nearpeak: Nearpeak, monkeypatch: pytest.MonkeyPatch) -> Nearpeak:
    """The command, with a layer that nobody compiles."""
    monkeypatch.setattr(build, "build_layer", lambda _library: Path(BUILT))
    monkeypatch.delenv("LD_PRELOAD", raising=False)
    monkeypatch.delenv("OMPI_MCA_mca_base_env_list", raising=False)
    return nearpeak


def test_the_variables_are_lines_for_a_shell(made: Nearpeak) -> None:
    code, out, err = made("layer", "--print-env", "--mpi", "one", "--require", "--report")
    assert (code, err) == (0, "")
    told = subprocess.run(
        ["sh", "-c", f"{out} env"], env={}, capture_output=True, text=True, check=True
    ).stdout
    found = dict(line.split("=", 1) for line in told.splitlines())
    assert found["LD_PRELOAD"] == BUILT
    assert found["NEARPEAK_LAYER"] == "require"
    assert found["NEARPEAK_LAYER_REPORT"] == "1"


def test_it_becomes_the_command(made: Nearpeak, monkeypatch: pytest.MonkeyPatch) -> None:
    became: list[Any] = []
    monkeypatch.setattr(os, "execvpe", lambda *words: became.append(words))
    code, out, err = made("layer", "--mpi", "one", "--", "mpirun", "-n", "2", "./app", "--report")
    assert (code, out, err) == (0, "", "")
    [(file, words, env)] = became
    assert (file, words) == ("mpirun", ["mpirun", "-n", "2", "./app", "--report"])
    assert env["LD_PRELOAD"] == BUILT
    assert "NEARPEAK_LAYER_REPORT" not in env
    assert env["PATH"] == os.environ["PATH"]


@pytest.mark.parametrize(
    ("script", "status"),
    [
        (f'touch "${REACHED}"', 0),
        (f'touch "${REACHED}"; exit 7', 7),
        ("exit 0", 2),
        ("exit 7", 7),
    ],
)
def test_with_require_it_fails_where_no_process_has_the_layer(
    made: Nearpeak, script: str, status: int
) -> None:
    """As one that is linked statically, or of another library."""
    code, _, err = made("layer", "--require", "--mpi", "one", "--", "sh", "-c", script)
    assert code == status
    line = "nearpeak: the layer must be on, and no process of `sh -c "
    assert err.startswith(line) if "touch" not in script else err == ""


def test_what_it_looks_for_is_left_nowhere(
    made: Nearpeak, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder = tmp_path / "built"
    folder.mkdir()
    monkeypatch.setattr(build, "build_layer", lambda _library: folder / "layer.so")
    script = f'test -d "$(dirname "${REACHED}")" && touch "${REACHED}"'
    code, _, err = made("layer", "--require", "--mpi", "one", "--", "sh", "-c", script)
    assert (code, err) == (0, "")
    assert list(folder.iterdir()) == []


def test_only_queries_loads_another_library(
    made: Nearpeak, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build, "build_queries", lambda: Path("/cache/queries.so"))
    code, out, _ = made("layer", "--only-queries", "--print-env", "--mpi", "one", "--report")
    assert code == 0
    assert "export LD_PRELOAD=/cache/queries.so\n" in out
    assert "export NEARPEAK_QUERIES_REPORT=1\n" in out
    assert "NEARPEAK_LAYER" not in out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "name a command, like `nearpeak layer --mpi mpich -- mpirun -n 2 ./app`, or the"),
        (("--print-env",), "name a command, like"),
        (("--mpi", "one"), "name a command, like"),
        (("--mpi", "ceiling", "--", "app"), "ceiling is no MPI library: name that of the"),
        (("--mpi", "one", "--", "/nowhere/app"), "/nowhere/app cannot be started: No such file"),
        (("--explain",), "name a library, like `nearpeak layer --explain --mpi mpich`"),
        (
            ("--explain", "--mpi", "one", "--", "app"),
            "--explain goes with --mpi, --path and --json",
        ),
        (("--explain", "--mpi", "one", "--report"), "--explain goes with --mpi, --path and --json"),
        (("--explain", "--mpi", "one", "--only-queries"), "--explain goes with --mpi, --path"),
        (
            ("--only-queries", "--require", "--mpi", "one", "--", "app"),
            "--require is of the layer: it does not go with --only-queries",
        ),
        (("--path", "gpu-gpu nvlink", "--", "app"), "--path and --json go with --explain"),
        (("--", sys.executable), "is linked with an MPI library that is found: name the library"),
    ],
)
def test_bad_input(made: Nearpeak, words: tuple[str, ...], said: str) -> None:
    code, _, err = made("layer", *words)
    assert code == 2
    assert said in err


def test_calls_are_not_counted_under_the_layer(
    made: Nearpeak, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_layer = msgspec.structs.replace(discover.resolve("one"), name="one+layer", layer=True)
    monkeypatch.setattr(discover, "resolve", lambda _spec: with_layer)
    code, _, err = made("trace", "--mpi", "one+layer", "--", "app")
    assert code == 2
    assert "one+layer: calls are counted without the layer" in err


@pytest.fixture
def explained(made: Nearpeak, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """`--explain` on one launch that has found this, or failed."""

    def run(found: Ways | LaunchFailed, *words: str) -> tuple[int, str, str]:
        def explain(*_: Any) -> Ways:
            if isinstance(found, LaunchFailed):
                raise found
            return found

        chosen = SimpleNamespace(library=discover.resolve("one"), diagnoses=[])
        monkeypatch.setattr(layer, "_chosen", lambda *_: [chosen])
        monkeypatch.setattr(ways, "explain", explain)
        return made("layer", "--explain", "--mpi", "one", *words)

    return run


FOUND = Ways(
    library="one+layer",
    version="1.0",
    host="node1",
    settings={"NEARPEAK_LAYER_LONG": "65536"},
    kernel_bytes={0: 65536},
    no_kernel="",
    legs=[Leg("from a device to a device", "D,D", "gpu-gpu nvlink", [Step(8, "directly", 7.0)])],
    failed=[],
)


def test_what_was_found_is_printed_for_people_and_for_programs(explained: Any) -> None:
    code, out, err = explained(FOUND)
    assert (code, err) == (0, "")
    assert "From a device to a device, gpu-gpu nvlink" in out
    code, out, err = explained(FOUND, "--json")
    assert (code, err) == (0, "")
    assert msgspec.json.decode(out, type=Ways) == FOUND


def test_failed_launches_are_status_1(explained: Any) -> None:
    code, out, _ = explained(msgspec.structs.replace(FOUND, failed=["H,D: it crashed"]))
    assert code == 1
    assert "Failed: H,D: it crashed" in out
    code, out, err = explained(LaunchFailed("it crashed"))
    assert (code, out, err) == (1, "", "nearpeak: it crashed\n")


@pytest.mark.usefixtures("made")
def test_a_pair_of_buffers_that_fits_no_path_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a library with the layer, whatever the name says of it; settings stay."""
    asked: list[Any] = []

    def choose(_benchmark: str, mpi: str, _command: str, **options: Any) -> Any:
        asked.append((mpi, options["buffers"]))
        if options["buffers"] == "D,D":
            raise UserError("no path for D,D")
        return SimpleNamespace(buffers=options["buffers"])

    monkeypatch.setattr(single, "choose", choose)
    monkeypatch.setattr(discover, "LAYER", "")  # no library here has one
    [found] = layer._chosen("one@default", "host-gpu near", ways.BUFFERS)
    assert found.buffers == "H,D"
    assert asked == [("one@default", "D,D"), ("one@default", "H,D")]
    with pytest.raises(UserError, match=r"^no path for D,D$"):
        layer._chosen("one", None, ["D,D"])
