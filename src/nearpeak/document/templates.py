# SPDX-License-Identifier: Apache-2.0
"""The environment of page templates: escapes all text and formats figures uniformly."""

import base64
import functools
import hashlib
import json
import re
from collections.abc import Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import cast

import jinja2
from markupsafe import Markup, escape

from nearpeak import numbers
from nearpeak.document.model import Terms
from nearpeak.machine.tree import format_list
from nearpeak.picture.svg import palette

_HERE = Path(__file__).parent


@functools.cache
def environment(folder: Path = _HERE) -> jinja2.Environment:
    """The environment of the templates in a folder, which may use the blocks of this one; an
    undefined name is an error."""
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader([folder, _HERE]),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals["terms"] = {}
    made.filters |= {
        "defined": defined,
        "slug": slug,
        "number": numbers.number,
        "size": numbers.size,
        "count": numbers.count,
        "unit": numbers.unit,
        "marked": marked,
        "cpus": cpus,
        "moment": moment,
    }
    return made


def marked(text: str) -> Markup:
    """Escapes a text; what stands between backticks becomes code."""
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text))))


def slug(name: str) -> str:
    """The id of a term of a glossary: `term-good-fair-poor`; empty for a sign."""
    return (
        "-".join(["term", *letters]) if (letters := re.findall("[a-z0-9]+", name.lower())) else ""
    )


def linked(glossary: Terms) -> dict[str, tuple[str, str]]:
    """The words of a glossary, each with the id and the meaning of its term; signs are no words."""
    return {
        word: (slug(name), meaning.replace("`", ""))
        for name, meaning in glossary.entries
        for word in name.split(", ")
        if word.isalpha() and word.islower()
    }


@jinja2.pass_environment
def defined(environment: jinja2.Environment, text: str) -> Markup:
    """Marks a text; the first of each of the page's terms is a link to its definition."""
    terms = cast(Mapping[str, tuple[str, str]], environment.globals["terms"])
    if not terms:
        return marked(text)
    left = dict(terms)

    def link(match: re.Match[str]) -> str:
        if (term := left.pop(match["word"].lower(), None)) is None:
            return match[0]
        target, meaning = term
        return f'<a class="term" href="#{target}" data-meaning="{escape(meaning)}">{match[0]}</a>'

    pattern = rf"\b(?P<word>{'|'.join(terms)})(e?s)?\b"
    parts = re.split(r"(<code>.*?</code>)", str(marked(text)))
    parts[::2] = [re.sub(pattern, link, part, flags=re.IGNORECASE) for part in parts[::2]]
    return Markup("".join(parts))


def cpus(numbers: list[int]) -> str:
    """`CPU 3`, `CPUs 0-31,64-95`, `no CPUs`."""
    if not numbers:
        return "no CPUs"
    return f"CPU{'s' if len(numbers) > 1 else ''} {format_list(numbers)}"


def moment(written: str) -> str:
    """`2026-11-22 13:22 UTC` from an instant of a record; returns other texts unmodified."""
    try:
        instant = datetime.fromisoformat(written.replace("Z", "+00:00"))
    except ValueError:
        return written
    if instant.tzinfo is None:
        return written
    return f"{instant.astimezone(timezone.utc):%Y-%m-%d %H:%M} UTC"


def script(file: Path) -> Markup:
    """A script, as it stands between script tags."""
    return Markup(file.read_text(encoding="utf-8"))


def css() -> Markup:
    """The style sheet of every page."""
    return Markup(palette() + (_HERE / "page.css").read_text(encoding="utf-8"))


def policy(*scripts: str) -> str:
    """A content security policy: nothing from elsewhere, and no script but these."""
    hashes = [
        base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts
    ]
    allowed = " ".join(f"'sha256-{value}'" for value in hashes)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline';"
        " img-src data: blob:; base-uri 'none'; form-action 'none'"
    )


def embedded(value: object) -> Markup:
    """JSON that is safe inside a script tag: ASCII only, and no character that markup knows."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    for char in "<>&":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return Markup(text)
