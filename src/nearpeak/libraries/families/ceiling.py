# SPDX-License-Identifier: Apache-2.0
"""The ceilings instead of a library: the self-test of a study.

It measures the ceilings like the launches of any library, so that its fraction of them must be 1.
"""

from pathlib import Path

import nearpeak
from nearpeak.libraries.families import Family
from nearpeak.libraries.library import Library

FAMILY = Family(
    name="ceiling",
    title="Nearpeak's ceilings",
    version_pattern=r"(?!)",  # no MPI library says so
    native=Library(
        name="ceiling",
        family="ceiling",
        version=nearpeak.__version__,
        version_text="the best transports of nearpeak-native, in the place of a library",
        abi="",
        prefix=Path(),
        origin="nearpeak",
        launcher=Path(),
        libmpi=Path(),
    ),
)
