# SPDX-License-Identifier: Apache-2.0
"""The page of all recorded machines."""

import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import picture_gallery


def test_every_machine_is_in_the_gallery(tmp_path: Path) -> None:
    page = tmp_path / "gallery.html"
    subprocess.run([sys.executable, picture_gallery.__file__, page], check=True)
    text = page.read_text(encoding="utf-8")
    assert len(picture_gallery.NAMES) >= 12
    assert all(f"<h2>{name}</h2>" in text for name in picture_gallery.NAMES)
    assert text.count("<svg") == 3 * len(picture_gallery.NAMES)
    body = ElementTree.fromstring(text[text.index("<body>") :].removesuffix("</html>\n"))
    ids = [node.get("id") for node in body.iter() if node.get("id")]
    assert len(ids) == len(set(ids))


def test_it_wants_a_name() -> None:
    done = subprocess.run(
        [sys.executable, picture_gallery.__file__], capture_output=True, text=True, check=False
    )
    assert done.stderr == "usage: python tests/picture/gallery.py OUT.html\n"
    assert done.returncode
