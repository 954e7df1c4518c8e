# SPDX-License-Identifier: Apache-2.0
"""The sessions of studies, in the order of time."""

import os
from collections.abc import Sequence

from nearpeak.compare.compared import Measured
from nearpeak.compare.load import Study
from nearpeak.results.results import SessionInfo


def measured(
    studies: Sequence[Study], *, attempted: bool = False
) -> dict[tuple[int, int], Measured]:
    """Returns the sessions with measurements, by study (its index) and number, in the order of
    their start. `attempted`: those in which every launch failed as well."""
    sessions = {
        (index, session.session): Measured(
            study=study.results.study,
            folder=os.fsencode(study.folder).decode(errors="replace"),
            session=session.session,
            started=session.started,
            host=study.results.machine.hostname,
            loaded=_loaded(study, session.session),
        )
        for index, study in enumerate(studies)
        for session in (_attempted(study) if attempted else study.results.measuring_sessions)
    }
    return dict(sorted(sessions.items(), key=lambda item: (item[1].started, item[0])))


def _loaded(study: Study, session: int) -> bool:
    """True if the study itself reports load in this session: in all sessions if it names none."""
    conditions = study.results.conditions
    return (
        conditions is not None
        and conditions.loaded
        and session in (conditions.sessions or [session])
    )


def _attempted(study: Study) -> list[SessionInfo]:
    """Returns the sessions in which a launch ended."""
    measuring = [session.session for session in study.results.measuring_sessions]
    numbers = {*measuring, *(launch.session for launch in study.launches)}
    return [session for session in study.results.sessions if session.session in numbers]
