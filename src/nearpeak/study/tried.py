# SPDX-License-Identifier: Apache-2.0
"""Outcomes of trials in the user's cache: what was tried once is not tried again.

A file for each library with its settings, program, machine and driver; another of any of these is
another file. It only saves time: a file that cannot be read or written is as good as none.
"""

import contextlib
import hashlib
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

import nearpeak
from nearpeak.files import make_private, put_whole
from nearpeak.launching.trials import SIZES
from nearpeak.libraries.library import Contender
from nearpeak.machine.doctor import SETTINGS
from nearpeak.study.records import Fingerprint
from nearpeak.terms.awareness import Awareness
from nearpeak.terms.outcomes import NOT_TRIED
from nearpeak.terms.path import DataPath

SCHEMA = 1
# Variables that steer a library, as bench/record/record.cpp has them, and what decides which
# libraries and drivers are loaded.
STEERING = (
    *SETTINGS,
    *("MV2_", "MVP_", "PAMI_", "OMP_NUM_", "OMP_PROC_", "CUDA_VISIBLE", "CUDA_MPS_"),
    *("HIP_VISIBLE", "LD_", "NEARPEAK_"),
)


class _File(msgspec.Struct, kw_only=True):
    """What a file holds: the fingerprint is for people, its digest is in the file's name."""

    schema: int
    fingerprint: Fingerprint
    found: list[Awareness]


class Tried:
    """What is known of one contender on a path of this machine.

    `fingerprint`: of the machine and of this contender alone.
    """

    def __init__(
        self,
        folder: Path,
        fingerprint: Fingerprint,
        contender: Contender,
        path: DataPath,
        env: Mapping[str, str] = os.environ,
    ) -> None:
        steering = {name: value for name, value in env.items() if name.startswith(STEERING)}
        parts = (fingerprint, contender, path, steering, SIZES, nearpeak.__version__)
        text = msgspec.json.encode(parts, enc_hook=str, order="sorted")
        self._file = folder / f"{hashlib.sha256(text).hexdigest()}.json"
        self._fingerprint = fingerprint

    def read(self) -> list[Awareness]:
        """What was found, with the day on which it was."""
        with contextlib.suppress(OSError, msgspec.MsgspecError, ValueError):
            kept = msgspec.json.decode(self._file.read_bytes(), type=_File)
            if kept.schema == SCHEMA:
                return kept.found
        return []

    def add(self, found: Iterable[Awareness]) -> None:
        """Keeps what says something of the library, in the place of what was known of the same."""
        known = {
            (awareness.buffers, awareness.operation): awareness
            for awareness in [*self.read(), *found]
            if awareness.status != NOT_TRIED
        }
        kept = _File(schema=SCHEMA, fingerprint=self._fingerprint, found=list(known.values()))
        with contextlib.suppress(OSError):
            make_private(self._file.parent)
            put_whole(self._file, msgspec.json.format(msgspec.json.encode(kept), indent=1))
