# SPDX-License-Identifier: Apache-2.0
"""Imports run one way: each package knows those below it alone."""

import ast
from collections.abc import Iterator
from pathlib import Path

import nearpeak

ROOT = Path(nearpeak.__file__).parent
LAYERS = [
    {"arrays"},
    {"statistics", "errors", "folders", "numbers", "schemas"},
    {"terms"},
    {"files", "console"},
    {"journal"},
    {"machine"},
    {"libraries", "picture"},
    {"study"},
    {"conform"},
    {"observations"},
    {"results"},
    {"findings"},
    {"compare", "trace"},
    {"report"},
    {"bundle"},
    {"cli"},
]


def imported(file: Path) -> Iterator[str]:
    """What a file imports of nearpeak: `study.plan`, `numbers`."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module == "nearpeak":
            names = [f"nearpeak.{alias.name}" for alias in node.names]
        else:
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        for name in names:
            if name.startswith("nearpeak."):
                yield name.removeprefix("nearpeak.")


def test_every_package_has_its_layer() -> None:
    found = {one.stem for one in ROOT.iterdir() if one.suffix in ("", ".py")}
    assert found - {"__init__", "__pycache__"} == set().union(*LAYERS)


def test_imports_run_one_way() -> None:
    level = {name: number for number, names in enumerate(LAYERS) for name in names}
    upward = [
        f"{file.relative_to(ROOT)} imports {name}"
        for file in sorted(ROOT.rglob("*.py"))
        for name in imported(file)
        if (own := file.relative_to(ROOT).parts[0].removesuffix(".py")) in level
        and (one := name.split(".")[0]) != own
        and level[one] >= level[own]
    ]
    assert upward == []


# Results are made of observations, wherever these come from.
SOURCES = {"study", "conform", "trace"}
KNOW_NO_SOURCE = {"results", "findings", "compare"}


def test_what_judges_knows_no_source_of_observations() -> None:
    wrong = [
        f"{file.relative_to(ROOT)} imports {name}"
        for package in sorted(KNOW_NO_SOURCE)
        for file in sorted((ROOT / package).rglob("*.py"))
        for name in imported(file)
        if name.split(".")[0] in SOURCES
    ]
    assert wrong == []
