# SPDX-License-Identifier: Apache-2.0
"""Sessions: every run of a study, with the facts that its numbers depend on, so that no two are
mixed unseen."""

import socket
from itertools import chain, zip_longest
from pathlib import Path

import msgspec

import nearpeak
from nearpeak.clock import utc_now
from nearpeak.errors import UserError
from nearpeak.launching.fingerprints import Fingerprint
from nearpeak.machine.states import State, StateReader
from nearpeak.numbers import printable
from nearpeak.planning.commands import launch_ends, wanted_place
from nearpeak.planning.plan import Plan, PlannedLaunch
from nearpeak.study.records import SessionRecord
from nearpeak.terms.fingerprints import changes, common, shown


def begin(
    folder: Path, now: Fingerprint, last: SessionRecord | None, *, force: bool = False
) -> SessionRecord:
    """Returns the session that begins in a study folder, after the last one that was recorded
    there.

    UserError when that was of another fingerprint, unless that is forced.
    """
    if last and not force and (changed := differences(last.fingerprint, now)):
        raise UserError(
            f"{folder} was measured on something else ({'; '.join(changed)}): measure on the same, "
            "start anew in another folder, or go on as a session of its own with --force"
        )
    return SessionRecord(
        session=last.session + 1 if last else 0,
        started=utc_now(),
        nearpeak=nearpeak.__version__,
        fingerprint=now,
        forced=force,
    )


def differences(before: Fingerprint, now: Fingerprint) -> list[str]:
    """Returns the differences, like `driver nvidia: 580.159 -> 590.1`, except for added
    libraries."""
    changed = list(changes(*common(*map(msgspec.to_builtins, (before, now)))))
    parts = Fingerprint.__struct_fields__
    changed.sort(key=lambda change: (parts.index(change.part), change.name))
    return [
        f"{change.part} {printable(change.name)}: " + " -> ".join(shown(change.before, change.now))
        for change in changed
    ]


def launch_state(reader: StateReader, plan: Plan, planned: PlannedLaunch, *, begins: bool) -> State:
    """Returns the state of the parts of this host that a launch uses, which begins or has ended."""
    local_names = (None, "localhost", socket.gethostname())
    first = planned.groups[0]
    wanted = wanted_place(plan, planned, first)
    ranks = [
        cpus for cpus, host in zip(wanted.cpus, wanted.hosts, strict=True) if host in local_names
    ]
    in_turn = chain.from_iterable(zip_longest(*ranks))  # each rank's first, each one's second, ...
    ends = (
        plan.find_path(planned.path).ends if len(wanted.hosts) == 1 else launch_ends(plan, planned)
    )
    return reader.read(
        dict.fromkeys(cpu for cpu in in_turn if cpu is not None),
        dict.fromkeys(end.gpu for end in ends if end.gpu and end.host in local_names),
        recount=not begins,
    )
