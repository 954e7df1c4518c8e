# SPDX-License-Identifier: Apache-2.0
"""The results of a study, made only from its `plan.json`, `machine.json` and `records.jsonl`, and
at any time again from them. docs/methods/statistics.md explains how the figures are made.

**Version.** `schema` is raised when a field is removed, or changes its meaning, type or unit. New
fields do not raise it: readers ignore fields that they do not know.

**Units.** Sizes are in bytes, times in us, rates in GB/s = 1e9 bytes of payload a second. A value
"in the cell's unit" has the `unit` of the same object. Fractions, shares, deviations and ratios are
plain numbers: 0.02 is 2 %. A value is null if the study has too little data for it, and never 0
for that reason.
"""

import json
from typing import Any

from nearpeak.results.results import SCHEMA, Results
from nearpeak.results.shared import once_in
from nearpeak.schemas import published

TITLE = "results.json"
WHOLE = Results


def schema() -> dict[str, Any]:
    """The schema (draft 2020-12) that every results.json of this version satisfies."""
    return once_in(published(WHOLE, SCHEMA))


if __name__ == "__main__":
    print(json.dumps(schema(), indent=1))
