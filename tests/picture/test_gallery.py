# SPDX-License-Identifier: Apache-2.0
"""The page of all recorded machines."""

import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree


def test_every_machine_is_in_the_gallery(gallery: Any, tmp_path: Path) -> None:
    page = tmp_path / "gallery.html"
    subprocess.run([sys.executable, gallery.__file__, page], check=True)
    text = page.read_text(encoding="utf-8")
    assert len(gallery.NAMES) >= 12
    assert all(f"<h2>{name}</h2>" in text for name in gallery.NAMES)
    assert text.count("<svg") == 3 * len(gallery.NAMES)
    body = ElementTree.fromstring(text[text.index("<body>") :].removesuffix("</html>\n"))
    ids = [node.get("id") for node in body.iter() if node.get("id")]
    assert len(ids) == len(set(ids))


def test_it_wants_a_name(gallery: Any) -> None:
    done = subprocess.run(
        [sys.executable, gallery.__file__], capture_output=True, text=True, check=False
    )
    assert done.stderr == "usage: python tests/picture/gallery.py OUT.html\n"
    assert done.returncode
