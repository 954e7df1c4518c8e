# SPDX-License-Identifier: Apache-2.0
"""`nearpeak` on this machine with the fake driver's devices: `python on_fake_gpus.py WORDS`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "machine"))

from fake_gpus import with_fake_gpus

from nearpeak.cli.main import main
from nearpeak.machine import discover

discover.discover = with_fake_gpus  # type: ignore[assignment]
main()
