# SPDX-License-Identifier: Apache-2.0
"""Imports and includes run one way: each package and each folder knows those below it alone."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from importlib.util import resolve_name
from pathlib import Path

import pytest

import definitions
import nearpeak

ROOT = Path(nearpeak.__file__).parent
LAYERS = [
    {"arrays", "asking", "decoding", "fields", "grouping", "markdown"},
    {
        "clock",
        "statistics",
        "errors",
        "folders",
        "numbers",
        "reference",
        "schemas",
        "signals",
        "watch",
        "withheld",
    },
    {"locks", "owners", "terms"},
    {"files", "console"},
    {"journal"},
    {"machine"},
    {"libraries", "picture"},
    {"document"},
    {"launching"},
    {"conform", "nodes", "planning"},
    {"study"},
    {"observations"},
    {"results"},
    {"findings"},
    {"appraisal", "compare", "explain", "trace"},
    {"history", "tune"},
    {"report"},
    {"bundle", "publish"},
    {"runs"},
    {"cli"},
]
# Of bench/, but what it is given (third_party) and its tests, which include what they test. On top
# are the programs; what composes benchmarks with transports is above both.
PROGRAMS = [
    {"marks", "options", "payload", "portable"},
    {"accel"},
    {"accel/host", "accel/kernels", "group", "transport"},
    {"accel/gpu", "accel/openacc", "accel/opencl", "sampling"},
    {"accel/cuda", "accel/hip", "counters"},
    {"record"},
    {"transport/gpu", "transport/host", "transport/mpi", "transport/nccl", "transport/tcp"},
    {"benchmark"},
    {"mpi", "pt2pt"},
    {"mpi/pt2pt"},
    {"overlap"},
    {"app", "collective", "datatype", "rma", "stream"},
    {"nccl"},
    {"nccl/collective", "nccl/stream"},
    {"programs/mpi", "programs/native"},
]
# Of preload/: no program includes any of it.
PRELOADED = [
    {"calls", "explain", "queries"},
    {"layer/datatype", "trace"},
    {"layer/copy"},  # by devices, drivers and the kernel: ranks are numbers
    {"layer/world"},  # this rank, the others, and the memory that they share
    {"layer/protocol"},  # messages between ranks, and the requests for them
    {"layer/collective"},
    {"layer/window"},
    {"layer/intercept"},  # MPI's functions
]
FOLDERS = [*PROGRAMS, *PRELOADED]
BELOW_PRELOADED = {"accel", "accel/gpu", "options"}


def imported(file: Path) -> Iterator[str]:
    """What a file imports of nearpeak: `study.plan`, `numbers`."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            package = ".".join(["nearpeak", *file.relative_to(ROOT).parent.parts])
            module = resolve_name("." * node.level + (node.module or ""), package)
            whole = module == "nearpeak"
            names = [f"{module}.{alias.name}" for alias in node.names] if whole else [module]
        else:
            names = []
        for name in names:
            if name.startswith("nearpeak."):
                yield name.removeprefix("nearpeak.")


def test_relative_imports_are_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    file = tmp_path / "report" / "page.py"
    file.parent.mkdir()
    file.write_text("from ..study import run\nfrom .. import trace\nfrom . import text\n")
    assert list(imported(file)) == ["study", "trace", "report"]


def test_every_package_has_its_layer() -> None:
    found = {file.stem for file in ROOT.iterdir() if file.suffix in ("", ".py")}
    assert found - {"__init__", "__pycache__"} == set().union(*LAYERS)


def test_imports_run_one_way() -> None:
    level = {name: number for number, names in enumerate(LAYERS) for name in names}
    upward = [
        f"{file.relative_to(ROOT)} imports {name}"
        for file in sorted(ROOT.rglob("*.py"))
        for name in imported(file)
        if (own := file.relative_to(ROOT).parts[0].removesuffix(".py")) in level
        and (word := name.split(".")[0]) != own
        and level[word] >= level[own]
    ]
    assert upward == []


# Results are made of observations, wherever these come from, and reports show them.
SOURCES = {"conform", "explain", "nodes", "planning", "study", "trace", "tune"}
KNOW_NO_SOURCE = {"results", "findings", "compare", "history", "report"}
SHOWS = {  # what is no study, and what a study's page has of others
    "report/page.py": {"explain.drawing", "explain.present"},
}


def shows(file: Path, name: str) -> bool:
    """Whether a file is there to show what it imports."""
    return any(
        str(file.relative_to(ROOT)).startswith(where) and name in presenters
        for where, presenters in SHOWS.items()
    )


def test_what_judges_and_shows_knows_no_source_of_observations() -> None:
    wrong = [
        f"{file.relative_to(ROOT)} imports {name}"
        for package in sorted(KNOW_NO_SOURCE)
        for file in sorted((ROOT / package).rglob("*.py"))
        for name in imported(file)
        if name.split(".")[0] in SOURCES and not shows(file, name)
    ]
    assert wrong == []


def test_commands_share_nothing_but_what_stands_above_them() -> None:
    found = {
        (file.stem, name.split(".")[1])
        for file in sorted((ROOT / "cli").glob("*.py"))
        for name in imported(file)
        if name.startswith("cli.") and file.stem != "main"
    }
    assert found == set()


def test_the_command_line_is_in_cli_alone() -> None:
    outside = [
        str(file.relative_to(ROOT))
        for file in sorted(ROOT.rglob("*.py"))
        if "cli" not in file.relative_to(ROOT).parts
        and re.search(r"^\s*(?:import|from) typer\b", file.read_text("utf-8"), re.MULTILINE)
    ]
    assert outside == []


def sources() -> Iterator[tuple[Path, Path]]:
    """Yields the sources of bench/ and preload/, each with its path below that folder."""
    for root in (definitions.BENCH, definitions.PRELOAD):
        for file in definitions.below(root, definitions.CPP):
            yield file, file.relative_to(root)


def including() -> Iterator[tuple[str, Path, str]]:
    """Yields a folder of bench/ or preload/, a source in it, and a header that it includes."""
    for file, name in sources():
        text = file.read_text(encoding="utf-8")
        for header in re.findall(r'^# *include "(.*)"', text, re.MULTILINE):
            yield str(name.parent), name, header


def test_every_folder_has_its_layer() -> None:
    assert {str(name.parent) for _, name in sources()} == set().union(*FOLDERS)


def test_preloaded_libraries_stand_on_few_rooms_of_the_programs() -> None:
    rooms = {
        str(Path(header).parent)
        for folder, _, header in including()
        if folder in set().union(*PRELOADED)
    }
    assert rooms - set().union(*PRELOADED) == BELOW_PRELOADED


def test_includes_run_one_way() -> None:
    level = {name: number for number, names in enumerate(FOLDERS) for name in names}
    upward = [
        f"{name} includes {header}"
        for folder, name, header in including()
        if (other := str(Path(header).parent)) != folder and level[other] >= level[folder]
    ]
    assert upward == []


CIRCULAR = {"programs/mpi"}  # the command line has the options of probes, which read them there


def test_files_of_a_folder_include_each_other_one_way() -> None:
    """A source counts with its header: what one calls of another, it includes by some way."""
    files: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for folder, name, header in including():
        other = Path(header)
        if str(other.parent) == folder and other.stem != name.stem:
            files[folder][name.stem].add(other.stem)
    circles = {}
    for folder, included in files.items():
        try:
            TopologicalSorter(included).prepare()
        except CycleError as error:
            circles[folder] = error.args[1]
    assert {folder: circle for folder, circle in circles.items() if folder not in CIRCULAR} == {}
    assert circles.keys() == CIRCULAR
