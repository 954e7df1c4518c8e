# SPDX-License-Identifier: Apache-2.0
"""The Python packages that Nearpeak runs with, for another Python than this one."""

import hashlib
import platform
import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import msgspec
from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name, parse_wheel_filename

from nearpeak.bundle.trim import any_of
from nearpeak.errors import UserError
from nearpeak.libraries import glibc

BUILD_TOOLS = ("cmake", "ninja")  # a bundle's programs are built
# Not needed to run.
LEFT_OUT = any_of(["*/", "*/tests/*", "*.data/data/*", "*.pyi", "*/f2py/src/*"])


def lay_out(checkout: Path, python: str, folder: Path) -> dict[str, str]:
    """Puts the packages for `python` (like 3.12) into `folder`; returns their versions.

    They are the versions of requirements.lock, whose hashes are checked. UserError when no index
    answers, or it has no wheel for that Python.
    """
    environment = {key: str(value) for key, value in default_environment().items()}
    environment |= {"python_version": python, "python_full_version": f"{python}.0"}
    wanted = needed((checkout / "pyproject.toml").read_text("utf-8"), environment)
    locked = pins((checkout / "requirements.lock").read_text("utf-8"), environment)
    versions = {}
    with tempfile.TemporaryDirectory() as name:
        for wheel in _download(wanted, locked, python, Path(name)):
            project, version, _, _ = parse_wheel_filename(wheel.name)
            _, hashes = locked.get(str(project), ("", set()))
            if hashlib.sha256(wheel.read_bytes()).hexdigest() not in hashes:
                raise UserError(f"{wheel.name} is not the file that requirements.lock names")
            unpack(wheel, folder)
            versions[str(project)] = str(version)
    return versions


def needed(pyproject: str, environment: dict[str, str]) -> list[str]:
    """The requirements of the program in that environment, without build tools."""
    listed = map(Requirement, msgspec.toml.decode(pyproject)["project"]["dependencies"])
    return [
        f"{requirement.name}{requirement.specifier}"
        for requirement in listed
        if requirement.name not in BUILD_TOOLS and _applies(requirement, environment)
    ]


def _applies(requirement: Requirement, environment: dict[str, str]) -> bool:
    return not requirement.marker or requirement.marker.evaluate(environment)


def pins(lock: str, environment: dict[str, str]) -> dict[str, tuple[str, set[str]]]:
    """Version and hashes of each package that a lock file names for that environment."""
    pinned: dict[str, tuple[str, set[str]]] = {}
    lines = re.sub(r"^\s*#.*\n?", "", lock.replace("\\\n", " "), flags=re.MULTILINE)
    for entry in filter(None, lines.splitlines()):
        text, *hashes = entry.split("--hash=sha256:")
        requirement = Requirement(text)
        if _applies(requirement, environment):
            name = str(canonicalize_name(requirement.name))
            version = str(requirement.specifier).removeprefix("==")
            pinned[name] = version, set(map(str.strip, hashes))
    return pinned


def unpack(wheel: Path, folder: Path) -> None:
    """Unpacks the files of a wheel as an installation has them, without those in LEFT_OUT."""
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if LEFT_OUT.match(name):
                continue
            target = folder / re.sub(r"^[^/]+\.data/(purelib|platlib)/", "", name)
            if not target.resolve().is_relative_to(folder.resolve()):
                raise UserError(f"{wheel.name} holds {name}, outside its folder")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(archive.read(name))


def _platforms(machine: str) -> list[str]:
    """The tags of wheels that run with glibc.PORTABLE, the best first (PEP 600)."""
    major, newest = glibc.PORTABLE
    old = {17: ["manylinux2014"], 12: ["manylinux2010"], 5: ["manylinux1"]}
    names = []
    for minor in range(newest, 4, -1):
        names += [f"manylinux_{major}_{minor}", *old.get(minor, [])]
    return [f"{name}_{machine}" for name in names]


def _download(
    wanted: list[str], locked: dict[str, tuple[str, set[str]]], python: str, folder: Path
) -> list[Path]:
    constraints = folder / "constraints.txt"
    constraints.write_text("".join(f"{name}=={pin[0]}\n" for name, pin in locked.items()))
    command = [
        *(sys.executable, "-m", "pip", "download", "--quiet", "--no-input"),
        *("--disable-pip-version-check", "--only-binary", ":all:", "--python-version", python),
        *(word for tag in _platforms(platform.machine()) for word in ("--platform", tag)),
        *("--constraint", str(constraints), "--dest", str(folder), *wanted),
    ]
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    if done.returncode:
        errors = re.findall(r"^ERROR: (.*)", done.stderr, re.MULTILINE)
        raise UserError(
            f"cannot get the packages for Python {python} (pip said: "
            f"{['nothing', *errors][-1]}): make sure that a "
            "package index can be reached, or choose another --python"
        )
    return sorted(folder.glob("*.whl"))
