# SPDX-License-Identifier: Apache-2.0
"""Digests in records.jsonl, so that a figure that was changed afterwards is noticed.

An amendment, and the end of a launch and of a study, hold the SHA-256 of all lines of the file
before it and of its own with an empty digest; the first line those of the files next to it.
"""

import hashlib
from collections.abc import Callable
from pathlib import Path

import msgspec

from nearpeak.errors import UserError
from nearpeak.files import digest
from nearpeak.study.records import (
    AmendmentRecord,
    LaunchEndRecord,
    Record,
    StudyEndRecord,
    StudyRecord,
)
from nearpeak.terms.study_files import MACHINE, PLAN

FILES = (MACHINE, PLAN)
_EMPTY = b'"digest":""'
_Sealed = AmendmentRecord | LaunchEndRecord | StudyEndRecord  # that have a digest


def file_digests(folder: Path) -> dict[str, str]:
    """SHA-256 of the files of a study other than its records. OSError without them."""
    return {name: digest(folder / name) for name in FILES}


def check_files(folder: Path, record: StudyRecord) -> None:
    """UserError where a file is not as it was when the study began."""
    for name in FILES:
        file = folder / name
        try:
            now = digest(file)
        except OSError as error:
            raise UserError(f"{file} cannot be read ({error.strerror}): make it readable") from None
        if record.files.get(name) != now:
            raise UserError(
                f"{file} is damaged: it is not as it was when the study began; restore it from a "
                "copy or measure anew"
            )


class Seal:
    """The digest of a file so far; fed with its lines in order."""

    def __init__(self, data: bytes = b"") -> None:
        self._hash = hashlib.sha256(data)

    def line(self, record: Record, encode: Callable[[Record], bytes]) -> bytes:
        """The line of a record, with its newline; with its digest, where it has one."""
        line = encode(record) + b"\n"
        if isinstance(record, _Sealed):
            record.digest = ""
            blank = encode(record) + b"\n"
            record.digest = self._digest_with(blank)
            line = blank.replace(_EMPTY, _filled(record.digest))
        return line

    def take(self, line: bytes) -> None:
        """Takes in a line of the file."""
        self._hash.update(line)

    def check(self, line: bytes, record: Record) -> bool:
        """True if the record has a digest; ValueError where that is not the one of the lines before
        it and its own."""
        if not isinstance(record, _Sealed):
            return False
        if record.digest != self._digest_with(line.replace(_filled(record.digest), _EMPTY)):
            raise ValueError("it, or a line before it, was changed after it had been recorded")
        return True

    def _digest_with(self, line: bytes) -> str:
        extended = self._hash.copy()
        extended.update(line)
        return extended.hexdigest()


def _filled(digest: str) -> bytes:
    return b'"digest":' + msgspec.json.encode(digest)
