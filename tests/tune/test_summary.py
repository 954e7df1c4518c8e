# SPDX-License-Identifier: Apache-2.0
"""What is written of what came of a tuning."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from nearpeak.libraries.library import UNSET
from nearpeak.tune.candidates import Candidate
from nearpeak.tune.search import Calibration, Outcome
from nearpeak.tune.summary import _calibration, _free


@pytest.mark.parametrize(("rounds", "told"), [(0, 0), (5, 0), (6, 2)])
def test_fewer_than_six_rounds_of_ceilings_give_no_figure(rounds: int, told: int) -> None:
    journal: Any = SimpleNamespace(records=[])
    gains = [np.array([0.1, 0.0])] * rounds
    found = _calibration(journal, Outcome(calibration=Calibration(Candidate(()), gains)))
    assert found is not None
    assert (found.rounds, len(found.times), len(found.ci95)) == (rounds, told, told)


def test_what_is_left_out_is_told() -> None:
    confirmed: Any = SimpleNamespace(
        everywhere=True, targets=[], slower=[], detectable_loss=0.1, host_messages=[]
    )
    free = _free(Outcome(free={"FAST": "y", "I_MPI_PIN": UNSET}), confirmed)
    assert (free.env, free.unset) == ({"FAST": "y"}, ["I_MPI_PIN"])
