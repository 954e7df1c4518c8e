# SPDX-License-Identifier: Apache-2.0
"""The recipes in packaging/ say what pyproject.toml does, and the container's commands run."""

import ast
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

import nearpeak

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[1]
PACKAGING = ROOT / "packaging"
SPACK = PACKAGING / "spack" / "spack_repo" / "nearpeak" / "packages"
[EASYCONFIG] = (PACKAGING / "easybuild").glob("*.eb")
CONTAINERFILE = PACKAGING / "container" / "Containerfile"
DEFINITION = PACKAGING / "container" / "nearpeak.def"
TOOLS = {"cmake", "ninja"}  # programs to others, and no Python packages
LOCK = (ROOT / "requirements.lock").read_text("utf-8")


def required() -> dict[str, Requirement]:
    """What Nearpeak needs, by name."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    found = [Requirement(line) for line in project["dependencies"]]
    return {canonicalize_name(each.name): each for each in found}


def locked(name: str) -> tuple[set[str], set[str]]:
    """The versions in requirements.lock, and their hashes."""
    parts = re.findall(rf"^{re.escape(name)}==(\S+)((?:.*\\\n)+.*)", LOCK, re.MULTILINE)
    return {version for version, _ in parts}, {
        digest for _, lines in parts for digest in re.findall(r"sha256:(\w{64})", lines)
    }


def directives(recipe: Path, name: str) -> Iterator[list[Any]]:
    """The words of each directive of Spack with this name."""
    for node in ast.walk(ast.parse(recipe.read_text("utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name:
            named = {word.arg: ast.unparse(word.value).strip("'") for word in node.keywords}
            yield [ast.literal_eval(node.args[0]), named]


def test_spack_needs_what_nearpeak_needs() -> None:
    needed = {}
    for spec, named in directives(SPACK / "nearpeak" / "package.py", "depends_on"):
        if "build" not in named.get("type", "") and "+plot" not in named.get("when", ""):
            name, _, versions = spec.partition("@")
            needed[name.removeprefix("py-")] = versions
    assert set(needed) == set(required())
    for name, versions in needed.items():
        if name not in TOOLS:
            low, colon, high = versions.partition(":")
            bounds = required()[name].specifier
            assert bounds.contains(low) or Version(low) in {
                Version(each.version[: len(low)]) for each in bounds
            }
            some, _ = locked(name)
            assert any(each.startswith(high if colon else low) for each in some), name


@pytest.mark.parametrize(
    "folder", sorted(path.name for path in SPACK.iterdir() if path.name[:3] == "py_")
)
def test_spacks_other_packages_are_what_is_locked(folder: str) -> None:
    versions, hashes = locked(folder.removeprefix("py_").replace("_", "-"))
    [[version, named]] = directives(SPACK / folder / "package.py", "version")
    assert version in versions
    assert named["sha256"] in hashes


def easyconfig() -> dict[str, Any]:
    """What it sets: it is Python."""
    found: dict[str, Any] = {}
    exec(EASYCONFIG.read_text("utf-8"), found)
    return found


def test_easybuild_installs_what_is_locked() -> None:
    found = easyconfig()
    *others, (name, version, _) = found["exts_list"]
    assert (name, version) == ("nearpeak", nearpeak.__version__)
    assert EASYCONFIG.name == f"nearpeak-{version}-foss-2025b.eb"
    for name, version, options in others:
        versions, hashes = locked(name)
        assert version in versions, name
        assert set(options["checksums"]) <= hashes, name


def test_easybuild_has_all_that_nearpeak_needs() -> None:
    found = easyconfig()
    there = {canonicalize_name(name) for name, *_ in [*found["exts_list"], *found["dependencies"]]}
    bundled = {"SciPy-bundle": {"numpy", "scipy"}, "Python-bundle-PyPI": {"jinja2", "tomli-w"}}
    for name, *_ in found["dependencies"]:
        there |= bundled.get(name, set())
    there |= {"packaging", "tomli"}  # Python's own easyconfig has them
    assert set(required()) <= there


def test_easybuild_leaves_the_build_tools_out(tmp_path: Path) -> None:
    """They are modules there, and pip would miss them."""
    options = easyconfig()["exts_list"][-1][2]
    shutil.copyfile(ROOT / "pyproject.toml", tmp_path / "pyproject.toml")
    subprocess.run(["sh", "-ec", options["preinstallopts"] + "true"], cwd=tmp_path, check=True)
    changed = (tmp_path / "pyproject.toml").read_text("utf-8")
    left = {Requirement(line).name for line in tomllib.loads(changed)["project"]["dependencies"]}
    assert {canonicalize_name(name) for name in left} == set(required()) - TOOLS


def container_commands() -> list[str]:
    """Those of the Containerfile, in order."""
    text = CONTAINERFILE.read_text("utf-8").replace("\\\n", "")
    runs = re.findall(r"^RUN (.*)$", text, re.MULTILINE)
    return [" ".join(word.split()) for run in runs for word in run.split("&&")]


def test_hadolint_has_nothing_to_say() -> None:
    program = Path(sys.executable).with_name("hadolint")
    said = subprocess.run([program, CONTAINERFILE], capture_output=True, text=True, check=False)
    assert (said.returncode, said.stdout) == (0, ""), said.stderr


def test_both_containers_do_the_same() -> None:
    text = DEFINITION.read_text("utf-8")
    post = text.partition("%post\n")[2].partition("\n\n")[0]
    assert [line.strip() for line in post.splitlines()] == container_commands()
    lines = CONTAINERFILE.read_text("utf-8").splitlines()
    [copied] = (line for line in lines if line.startswith("COPY"))
    *files, target = copied.split()[1:]
    assert re.findall(r"^ +(\S+) (/\S+)$", text.partition("%files")[2], re.MULTILINE) == [
        (file, target) for file in files
    ]


def test_the_commands_of_the_container_run(tmp_path: Path, built_wheel: Path) -> None:
    """All but those that install what Nearpeak needs: it is taken from this environment."""
    place = tmp_path / "opt"
    place.mkdir()
    shutil.copy(built_wheel, place)
    left = [line for line in container_commands() if "apt" not in line and ".lock" not in line]
    assert len(left) == 2
    environment = {**os.environ, "PIP_NO_COMPILE": "1"}
    for line in left:
        moved = line.replace("/opt/nearpeak", str(place))
        subprocess.run(["sh", "-ec", moved], env=environment, check=True, capture_output=True)
    [packages] = (place / "venv").glob("lib/*/site-packages")
    assert (packages / "nearpeak" / "bench" / "CMakeLists.txt").is_file()
    others = Path(pytest.__file__).parents[1]
    (packages / "others.pth").write_text(f"{others}\n")
    command = [place / "venv" / "bin" / "nearpeak", "--help"]
    ended = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "nearpeak" in ended.stdout
