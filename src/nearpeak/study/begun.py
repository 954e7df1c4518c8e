# SPDX-License-Identifier: Apache-2.0
"""Keeps which runs this user began: --resume runs the programs that a plan names, so that the
folder of a run is a program.

A folder may have been handed over, with a plan that names somebody else's launcher. Its own records
cannot tell: who wrote the plan wrote these too. So the user's state folder has a digest of what
each run of this user runs.
"""

import contextlib
import hashlib
import re
from collections.abc import Iterable

import msgspec

from nearpeak import folders
from nearpeak.errors import UserError
from nearpeak.files import make_anew, make_private
from nearpeak.libraries import discover, launchers, profiles, settings
from nearpeak.libraries.families import is_native
from nearpeak.libraries.library import Contender
from nearpeak.owners import risks
from nearpeak.study.plan import Plan

FOLDER = "begun"  # of the state folder: an empty file for each digest


def remember(begun: object) -> None:
    """Keeps that this user runs what a record names; where that cannot be kept, --resume asks."""
    with contextlib.suppress(OSError):
        make_private(folders.state() / FOLDER)
        make_anew(folders.state() / FOLDER / _digest(begun))


def is_known(begun: object) -> bool:
    """Tell whether this user runs what a record names, as far as is kept."""
    file = folders.state() / FOLDER / _digest(begun)
    return file.is_file() and not any(risks(file))


def decides(plan: Plan) -> list[object]:
    """Return the parts of a plan that decide which programs run, with which libraries."""
    return [plan.contenders, plan.remote_shell]


def foreign(plan: Plan) -> list[str]:
    """Return the programs that a plan names; none where this user began it, or where this machine
    has the same libraries under the same names."""
    if is_known(decides(plan)):
        return []
    shell = paths_in([plan.remote_shell or ""])
    if not shell and all(map(_is_of_here, plan.contenders)):
        return []
    named = {str(each.library.launcher) for each in plan.contenders if not is_native(each.library)}
    named |= {str(each.library.libmpi) for each in plan.contenders if is_native(each.library)}
    return sorted(named.union(shell))


def paths_in(named: Iterable[str]) -> list[str]:
    """Return the libraries and programs that are named by a path: who wrote it chose what runs, and
    not this machine."""
    return [name for name in named if re.search("[/~]", name)]


def _digest(begun: object) -> str:
    return hashlib.sha256(msgspec.json.encode(begun, order="sorted", enc_hook=str)).hexdigest()


def _is_of_here(contender: Contender) -> bool:
    """Tell whether this machine has the same under the same names. In a job, one of its launchers
    may stand in the place of the library's."""
    there = contender.library
    if paths_in([there.name]) or "=" in there.name or profiles.is_profile(contender.settings.name):
        return False  # what lies somewhere is whatever the plan says
    try:
        here = discover.resolve(there.name)
        chosen = settings.find(here, contender.settings.name)
    except UserError:
        return False
    if there.launcher in dict(launchers.on_path("")).values():
        here = msgspec.structs.replace(here, launcher=there.launcher, pmi=there.pmi)
    return (here, chosen) == (there, contender.settings)
