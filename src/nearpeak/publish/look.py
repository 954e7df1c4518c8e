# SPDX-License-Identifier: Apache-2.0
"""Finds text in a published copy that may still be private, for a person to decide."""

import contextlib
import getpass
import re
import socket
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from nearpeak.folders import home
from nearpeak.machine.doctor import SETTINGS
from nearpeak.publish.names import KINDS, SHORT
from nearpeak.publish.variables import may_stay
from nearpeak.withheld import is_secret_name, secrets_in

SHOWN = 60  # characters of a doubtful text
_LEAST = 3  # letters of a name that is looked for: shorter ones are parts of words
# A variable that is set: one in capitals, or MCA's, or one with a secret name.
_SET = re.compile(r"(?<![\w.-])(?P<name>[A-Za-z_]\w*)=(?P<value>[^\s;,\"'`\\]+)")
_STAND_INS = re.compile(
    r"(?:(?:" + "|".join(SHORT.get(kind, kind) for kind in KINDS) + r")\d+|\W|_)+"
)
_SAMPLES = b'{"record":"samples"'  # lines of numbers
# Digests and ids that Nearpeak writes are none.
_OWN = re.compile(r'"(?:study|id)": ?"[0-9a-f-]{16,64}"|(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])')
_LOOKED_FOR = {
    "e-mail": re.compile(
        r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){0,8}\.[A-Za-z]{2,24}\b"
    ),
    "IPv4 address": re.compile(r"(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}(?![\w.])"),
    "IPv4 address in hexadecimal": re.compile(
        r"\b0x(?:0a|ac1|c0a8)[0-9a-fA-F]{4,6}\b", re.IGNORECASE
    ),
    "IPv6 address": re.compile(
        r"(?<![\w:.])(?:(?:[0-9a-fA-F]{1,4}:){4,7}[0-9a-fA-F]{1,4}"
        r"|(?:[0-9a-fA-F]{1,4}:){1,6}:[0-9a-fA-F:]{0,20}|::[0-9a-fA-F:]{3,20})(?![\w:])"
    ),
    "MAC address": re.compile(
        r"\b(?:[0-9a-fA-F]{2}[:-]){5}[0-9a-fA-F]{2}\b|\b(?:[0-9a-fA-F]{4}\.){2}[0-9a-fA-F]{4}\b"
    ),
    "UUID": re.compile(r"\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b"),
    "long number": re.compile(r"(?<![\w.-])[0-9a-fA-F]{12,64}(?![\w.-])"),
    "job": re.compile(
        r"\b\w*JOB_?ID\w{0,9}[= ]\d+|\b\d{4,12}\.(?!\d)[A-Za-z][\w-]*(?:\.[\w-]+)+", re.IGNORECASE
    ),
    "account": re.compile(
        r"\b\w*(?:ACCOUNT|PROJECT)\w{0,9}=(?!(?:value|word|user)\d)[\w-]+|\b[ug]id=\d+\(\w+\)",
        re.IGNORECASE,
    ),
    # Of a host, with its domain: not a part of a path, nor a function that is called.
    "full name": re.compile(
        r"(?<![\w.@+-])(?<![^/]/)[A-Za-z][\w-]{0,62}(?:\.[A-Za-z0-9][\w-]{0,62}){1,8}\.[A-Za-z]{2,24}"
        r"(?![\w(@-]|\.\w)"
    ),
    "home": re.compile(
        r"/(?:home|users|Users|u)/(?!user\d+\b|dir\d+\b)[\w.-]+|(?<![\w/])~\w+(?=/)"
    ),
    "user of a domain": re.compile(r"\b[A-Z]{2,15}\\\\\w+|\bCN=[\w ]+"),
}
# Text that only looks private: a time of day, a PCI address, an address of this host, numbers,
# files, and sites with documentation.
_NONE = re.compile(
    r"\d\d:\d\d:\d\d|[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}(?:\.\d)?|127\.0\.0\.1|0\.0\.0\.0"
    r"|0x0*[0-9a-f]{1,4}|\d{12,20}|~user\d+|[\w.+@-]+\.(?:toml|so(?:\.\d+)*)"
    r"|[\w.-]+\.(?:c|cc|conf|cpp|cu|gz|h|hpp|html|json|jsonl|log|py|txt|xml|ya?ml)"
    r"|(?:docs|www)\.[\w-]+\.(?:com|io|org)|[\w-]+\.readthedocs\.io"
)


class Doubt(NamedTuple):
    """Something in a copy that may be private."""

    file: str  # in the copy
    line: int  # the first that has it
    what: str
    text: str
    places: int


def look(folder: Path, private: Iterable[str] = ()) -> list[Doubt]:
    """Finds text in the files of a copy that may be private. `private`: names that were to be
    replaced; the names of the current user and host are added."""
    patterns = {**_LOOKED_FOR, **_own_names(private)}
    doubts: dict[tuple[str, str], Doubt] = {}
    for name, number, line in _lines(folder):
        for kind, text in _in_line(line, patterns):
            first = doubts.get((kind, text), Doubt(name, number, kind, text, 0))
            doubts[kind, text] = first._replace(places=first.places + 1)
    return list(doubts.values())


def _lines(folder: Path) -> Iterator[tuple[str, int, str]]:
    """Yields the lines of all files below a folder but those of numbers, with file and number."""
    for file in sorted(filter(Path.is_file, folder.rglob("*"))):
        name = str(file.relative_to(folder))
        with file.open("rb") as lines:
            for number, line in enumerate(lines, start=1):
                if not line.startswith(_SAMPLES):
                    yield name, number, line.decode(errors="replace")


def _own_names(private: Iterable[str]) -> dict[str, re.Pattern[str]]:
    names = {"name of host": {socket.gethostname().partition(".")[0]}, "hidden word": {*private}}
    with contextlib.suppress(OSError, KeyError):
        names["name of user"] = {getpass.getuser(), home().name}
    patterns = {}
    for label, own_names in names.items():
        if looked_for := sorted(n for n in own_names if len(n) >= _LEAST and n != "root"):
            any_of = "|".join(map(re.escape, looked_for))
            patterns[label] = re.compile(rf"(?<![A-Za-z0-9])(?i:{any_of})(?![A-Za-z0-9])")
    return patterns


def _in_line(line: str, patterns: dict[str, re.Pattern[str]]) -> Iterator[tuple[str, str]]:
    line = _OWN.sub('""', line)
    for kind, pattern in patterns.items():
        for match in pattern.finditer(line):
            if not _NONE.fullmatch(match[0]):
                yield kind, match[0][:SHOWN]
    for secret in secrets_in(line):
        if not _STAND_INS.fullmatch(secret) and not _LOOKED_FOR["UUID"].search(secret):
            yield "key", secret[:SHOWN]
    for match in _SET.finditer(line):
        if _may_be_private(match["name"], match["value"]):
            yield "variable", match[0][:SHOWN]


def _may_be_private(name: str, value: str) -> bool:
    """True if `publish` would replace the value of a variable that a text sets."""
    called = name.isupper() or name.startswith(SETTINGS) or is_secret_name(name)
    return called and not (_STAND_INS.fullmatch(value) or may_stay(name, value))
