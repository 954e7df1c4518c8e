# SPDX-License-Identifier: Apache-2.0
"""Prints a page of docs/reference: `python -m nearpeak.cli.document commands`."""

import sys

from nearpeak.cli.document import PAGES

if sys.argv[1:2] == [] or sys.argv[1] not in PAGES:
    sys.exit(f"usage: python -m nearpeak.cli.document {'|'.join(PAGES)}")
print(PAGES[sys.argv[1]](), end="")
