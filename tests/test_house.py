# SPDX-License-Identifier: Apache-2.0
"""The picture of the packages in CONTRIBUTING.md is that of their imports."""

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent


def test_the_picture_is_of_today() -> None:
    command = [sys.executable, HERE / "house.py"]
    drawn = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    picture = HERE.parent / "docs" / "images" / "house.svg"
    assert picture.read_text("utf-8") == drawn, "python tests/house.py > docs/images/house.svg"
