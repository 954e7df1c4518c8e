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
from nearpeak.decoding import UNDECODABLE
from nearpeak.files import make_private, put_whole
from nearpeak.launching.fingerprints import Fingerprint
from nearpeak.launching.trials import SIZES
from nearpeak.libraries.library import Contender
from nearpeak.machine.doctor import SETTINGS
from nearpeak.terms.awareness import Awareness
from nearpeak.terms.outcomes import NOT_TRIED
from nearpeak.terms.path import DataPath

SCHEMA = 1
# Variables that steer a library, as in bench/record/record.cpp, and those that choose the libraries
# and drivers to load.
STEERING = (
    *SETTINGS,
    *("MV2_", "MVP_", "PAMI_", "OMP_NUM_", "OMP_PROC_", "CUDA_VISIBLE", "CUDA_MPS_"),
    *("HIP_VISIBLE", "LD_", "NEARPEAK_"),
)


class _File(msgspec.Struct, kw_only=True):
    """The content of a file: the fingerprint is for people, its digest is in the file's name."""

    schema: int
    fingerprint: Fingerprint
    found: list[Awareness]


class TrialCache:
    """The outcomes of trials of one contender on a path of this machine.

    `fingerprint`: of only the machine and this contender.
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
        """Returns the stored outcomes, with the day of each."""
        with contextlib.suppress(OSError, *UNDECODABLE):
            kept = msgspec.json.decode(self._file.read_bytes(), type=_File)
            if kept.schema == SCHEMA:
                return kept.found
        return []

    def add(self, outcomes: Iterable[Awareness]) -> None:
        """Keeps the outcomes that say something of the library, replacing earlier ones of the
        same."""
        latest = {
            (awareness.buffers, awareness.operation): awareness
            for awareness in [*self.read(), *outcomes]
            if awareness.status != NOT_TRIED
        }
        kept = _File(schema=SCHEMA, fingerprint=self._fingerprint, found=list(latest.values()))
        with contextlib.suppress(OSError):
            make_private(self._file.parent)
            put_whole(self._file, msgspec.json.format(msgspec.json.encode(kept), indent=1))
