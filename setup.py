# SPDX-License-Identifier: Apache-2.0
"""Puts the sources of the measuring programs into wheels; all else stands in pyproject.toml."""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

BENCH = Path("bench")
WITHOUT = shutil.ignore_patterns("tests", ".*")  # as in bundles


class BuildPy(build_py):
    """A checkout that is installed as it is has them already."""

    def run(self) -> None:
        """Copies them beside the packages, where `nearpeak.libraries.build.sources` looks."""
        super().run()
        if not self.editable_mode:
            target = Path(self.build_lib, "nearpeak", BENCH.name)
            shutil.rmtree(target, ignore_errors=True)
            shutil.copytree(BENCH, target, ignore=WITHOUT)


setup(cmdclass={"build_py": BuildPy})
