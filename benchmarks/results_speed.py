# SPDX-License-Identifier: Apache-2.0
"""How long the samples of a study take to become results and a report: prints seconds.

Usage: python benchmarks/results_speed.py [STUDY]

Without a study folder: examples/h200x2-shipped-tuned, with half a million samples. Works on a copy.
"""

import shutil
import sys
import tempfile
import time
from pathlib import Path

from nearpeak.findings.build import build_results
from nearpeak.report.page import write_page

EXAMPLE = Path(__file__).parents[1] / "examples" / "h200x2-shipped-tuned"


def main() -> None:
    study = Path(sys.argv[1]) if len(sys.argv) > 1 else EXAMPLE
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "study"
        shutil.copytree(study, folder)
        started = time.perf_counter()
        results = build_results(folder)
        built = time.perf_counter()
        page = write_page(results, folder)
        shown = time.perf_counter()
        print(f"{len(results.cells)} cells, page of {page.stat().st_size} bytes")
        print(f"results {built - started:.2f} s")
        print(f"report  {shown - built:.2f} s")


if __name__ == "__main__":
    main()
