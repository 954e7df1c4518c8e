# SPDX-License-Identifier: Apache-2.0
"""Puts the C++ sources into wheels; all else stands in pyproject.toml."""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

SOURCES = (Path("bench"), Path("preload"))
WITHOUT = shutil.ignore_patterns("tests", ".*")  # as in bundles


class BuildPy(build_py):
    """A checkout that is installed as it is has them already."""

    def run(self) -> None:
        """Copies them beside the packages, where `nearpeak.libraries.build.sources` looks."""
        super().run()
        if not self.editable_mode:
            for folder in SOURCES:
                target = Path(self.build_lib, "nearpeak", folder.name)
                shutil.rmtree(target, ignore_errors=True)
                shutil.copytree(folder, target, ignore=WITHOUT)


setup(cmdclass={"build_py": BuildPy})
