# SPDX-License-Identifier: Apache-2.0
"""Python knows no benchmark by its name: what it must know, `--describe` says."""

import ast
import json
import re
import subprocess
from pathlib import Path

import pytest

from nearpeak.fields import descriptions
from nearpeak.launching.names import known_names
from nearpeak.terms.benchmarks import FAMILIES, Benchmark

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "nearpeak"
# They say what other tools' names are here, and what hardware carries in these operations.
KNOWERS = (PACKAGE / "observations" / "sources", PACKAGE / "appraisal")


def test_the_document_lists_the_families_that_are_known_before_a_program_is_built() -> None:
    assert re.findall(r"`(\w+)`", descriptions(Benchmark)["family"]) == list(FAMILIES)


def test_the_document_names_every_benchmark() -> None:
    text = (ROOT / "docs" / "reference" / "programs.md").read_text(encoding="utf-8")
    [part] = re.findall(r"^## nearpeak-mpi$(.*?)^## ", text, re.MULTILINE | re.DOTALL)
    assert set(known_names()) - set(re.findall(r"`(\w+)`", part)) == set()


def test_the_document_lists_what_a_study_measures_by_default() -> None:
    """Of what nearpeak-native describes, which is most of it."""
    program = ROOT / "build" / "release" / "nearpeak-native"
    if not program.exists():
        pytest.skip("nearpeak-native is not built in build/release")
    told = subprocess.run([program, "--describe"], capture_output=True, check=True).stdout
    text = (ROOT / "docs" / "how-to" / "study.md").read_text(encoding="utf-8")
    [part] = re.findall(r"^## The default study$(.*?)^## ", text, re.MULTILINE | re.DOTALL)
    listed = set(re.findall(r"`(\w+)`", part)) & set(known_names())
    for benchmark in json.loads(told)["benchmarks"]:
        assert (benchmark["name"] in listed) == benchmark["default"], benchmark["name"]


def test_no_benchmark_is_known_by_its_name() -> None:
    known = known_names()
    assert len(known) >= 5
    found = [
        f"{file.relative_to(ROOT)}:{node.lineno}: {node.value}"
        for file in sorted(PACKAGE.rglob("*.py"))
        if not any(map(file.is_relative_to, KNOWERS))
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and node.value in known
    ]
    assert found == []
