# SPDX-License-Identifier: Apache-2.0
"""A stand-in for the measuring programs: answers at once with records that it makes up.

NEARPEAK_FAKE says how it fails: crash, hang, orphan (hang with a child in a session of its own),
lie, wrong, misplaced, silent. NEARPEAK_FAKE_CPUS says what CPUs it claims to have run on.
"""

import json
import os
import signal
import subprocess
import sys
import time

DESCRIPTION = {
    "schema": 1,
    "program": "nearpeak-mpi",
    "version": "0",
    "benchmarks": [
        {
            "name": name,
            "summary": name,
            "ranks": 2,
            "metric": name,
            "unit": unit,
            "better": better,
            "axes": [
                {"name": "calls", "values": ["blocking", "nonblocking"], "default": "blocking"},
                {"name": "reuse", "values": ["fixed", "rotating"], "default": "fixed"},
            ],
        }
        for name, unit, better in (
            ("latency", "us", "lower"),
            ("bw", "GB/s", "higher"),
            ("bibw", "GB/s", "higher"),
        )
    ],
}


def main() -> int:
    if sys.argv[1] == "--describe":
        print(json.dumps(DESCRIPTION))
        return 0
    options = dict(zip(sys.argv[2::2], sys.argv[3::2], strict=False))
    mode = os.environ.get("NEARPEAK_FAKE", "")
    out = open(options["--jsonl"], "a") if "--jsonl" in options else sys.stdout  # noqa: PTH123, SIM115

    def write(record: dict[str, object]) -> None:
        out.write(json.dumps(record) + "\n")
        out.flush()

    cpus = json.loads(os.environ.get("NEARPEAK_FAKE_CPUS", "[[0], [1]]"))
    if mode == "misplaced":
        cpus = [[99], cpus[1]]
    write(
        {
            "record": "environment",
            "program": "fake",
            "version": "0",
            "library_version": None,
            "ranks": [{"rank": rank, "host": "h", "cpus": one} for rank, one in enumerate(cpus)],
            "clock": {"tick_ns": 1.0},
            "env": {},
        }
    )
    benchmark = sys.argv[1]
    ceiling = benchmark in ("pair", "tcp", "memory")
    axes = {"reuse": options.get("--reuse", "fixed")}
    if not ceiling:
        axes = {name: options[f"--{name}"] for name in ("calls", "reuse")}
    for size in options["--sizes"].split(","):
        metric = "latency" if ceiling else benchmark
        write(
            {
                "record": "samples",
                "benchmark": metric,
                "metric": metric,
                "size_bytes": 77 if mode == "lie" else int(size),
                "buffers": "H,H",
                "axes": axes,
                "method": benchmark if ceiling else None,
                "unit": "us",
                "better": "lower",
                "samples": [1.0, 1.1, 1.2],
                "batch": 1,
                "kept_every": 1,
                "iterations": 3,
                "warmup_iterations": 1,
                "first_use_us": 2.0,
                "window": 64,
                "seconds": 0.001,
            }
        )
        if mode == "late crash":
            os.kill(os.getpid(), signal.SIGSEGV)
        if mode == "fill":
            time.sleep(0.3)
            print("x" * 1000, file=sys.stderr)
    if mode == "crash":
        os.truncate(options["--jsonl"], 0)
        os.kill(os.getpid(), signal.SIGSEGV)
    if mode == "hang":
        time.sleep(600)
    if mode == "orphan":
        subprocess.Popen(["sleep", "601"], start_new_session=True)
        time.sleep(600)
    if mode == "half":
        out.write('{"record": "samp')
    if mode == "wrong":
        write(
            {
                "record": "problem",
                "benchmark": benchmark,
                "size_bytes": int(options["--sizes"].split(",")[0]),
                "buffers": "H,H",
                "axes": axes,
                "status": "wrong data",
                "message": "rank 1 got 7 for 8 at byte 3",
            }
        )
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(main())
