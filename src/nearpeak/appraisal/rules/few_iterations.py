# SPDX-License-Identifier: Apache-2.0
"""Too few repetitions: the first ones connect and allocate."""

from nearpeak.appraisal.view import Effect, Reason, Rule, View, again
from nearpeak.numbers import count

FEWEST = 5


def find(view: View) -> Reason | None:
    """Looks at the number of repetitions that nccl-tests prints."""
    iterations = view.figure.clues.iterations
    if iterations is None or iterations >= FEWEST:
        return None
    return Reason(
        f"the mean of {count(iterations, 'repetition')}: connecting and warming up count too much",
        again(view),
        effect=Effect.HIDES,
        missing="what it reaches in more repetitions",
    )


RULE = Rule(2, find, "nccl-tests with fewer than 5 repetitions of each size")
