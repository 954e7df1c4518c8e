#!/usr/bin/env -S python3 -S
# SPDX-License-Identifier: Apache-2.0
"""A stand-in for the measuring programs: answers at once with records that it makes up.

NEARPEAK_FAKE says how it fails: crash, abort 3 (as a library may, with our exit status for wrong
data), hang, orphan (hang with a child in a session of its own), lie, wrong, wrong half (of its
record), half (of a line), some (of the sizes), twice, skip (a size), misplaced (and then hang),
nowhere, other device; noisy (each launch measures something else); `probe KINDS OPERATION END`
lets that trial end so; `probe KINDS OPERATION END later` does where others were tried before it.
NEARPEAK_FAKE_CPUS (like 0,1;2) and NEARPEAK_FAKE_HOSTS (a;b) say where its ranks claim to have run,
NEARPEAK_FAKE_LIBRARY with which library. NEARPEAK_FAKE_FAST halves all times; NEARPEAK_FAKE_SHORT
halves those of less than 4 KiB, and the others are four times as long.

Tests launch it thousands of times: to import json or signal would take as long as all else.
"""

import os
import sys
import time

DESCRIPTION = {
    "schema": 3,
    "program": "nearpeak-mpi",
    "version": "0",
    "operations": [{"name": name} for name in ("bcast", "put")],
    "benchmarks": [
        {
            "name": name,
            "summary": name,
            "ranks": {"rule": rule, "count": 2},
            "metrics": [
                {"name": metric, "unit": unit, "better": better} for metric, unit in metrics
            ],
            "smallest": int(better == "higher"),
            "axes": [
                {"name": "calls", "values": ["blocking", "nonblocking"], "default": "blocking"},
                {"name": "reuse", "values": ["fixed", "rotating"], "default": "fixed"},
                {"name": "touch", "values": ["none", "sender"], "default": "none"},
                {"name": "staging", "values": ["none", "pinned"], "default": "none"},
            ],
            "symmetric": name not in ("bw", "mbw_mr"),
            "moves": {
                "ways": 1 if name in ("bw", "mbw_mr") else 2,
                "window": better == "higher",
            },
            "ceiling": "none" if name == "allreduce" else "measured",
            "default": name in ("latency", "bw", "bibw"),
        }
        for name, rule, better, metrics in (
            ("allreduce", "at least", "lower", [("allreduce", "us")]),
            ("bibw", "exactly", "higher", [("bibw", "GB/s")]),
            ("bw", "exactly", "higher", [("bw", "GB/s")]),
            ("latency", "exactly", "lower", [("latency", "us")]),
            ("mbw_mr", "even", "higher", [("mbw", "GB/s"), ("mr", "M/s")]),
        )
    ],
}


def as_json(value: object) -> str:
    """As json.dumps writes it, where no text has quotes."""
    text = repr(value).replace("'", '"').replace("None", "null")
    return text.replace("True", "true").replace("False", "false")


def crash() -> None:
    """As a program does that reads where it must not."""
    import signal

    os.kill(os.getpid(), signal.SIGSEGV)


def devices(options: dict[str, str], ranks: int) -> list[dict[str, str] | None]:
    """Those that were asked for."""
    rows = options.get("--devices", ",".join("-" * ranks)).split(",")
    parts = [row.partition("*") for row in rows]
    asked = [name for name, _, count in parts for _ in range(int(count or 1))]
    if os.environ.get("NEARPEAK_FAKE") == "other device":
        asked = asked[::-1]
    return [None if uuid == "-" else {"uuid": uuid} for uuid in asked]


def probe(words: list[str], mode: str) -> int:
    """Tries everything; what `mode` names ends as it says. "probe no device", "probe no start":
    the program itself, or the library, ends before; "probe end crash", "probe end hang": after."""
    if mode == "probe no device":
        print("nearpeak-mpi: cuda has none: no driver", file=sys.stderr)
        return 2
    if mode == "probe no start":
        print("MPI_Init failed", file=sys.stderr)
        return 1
    options = dict(zip(words[::2], words[1::2], strict=True))
    with open(options["--cases"]) as file:  # noqa: PTH123
        cases = [line.split() for line in file]
    for number, (kind, allocator, operation, offset, check, sizes) in enumerate(cases):
        end = "ok"
        if mode.startswith(f"probe {kind} {operation} "):
            end, *later = mode.split()[3:]
            if later and number == 0:
                end = "ok"
        for status in ("begun", {"wrong": "wrong data", "refuse": "refused"}.get(end, "ok")):
            line = {
                "record": "probe",
                "buffers": kind,
                "allocator": allocator,
                "operation": operation,
                "offset": int(offset),
                "check": check,
                "status": status,
                "message": "",
                "size_bytes": None if status == "ok" else int(sizes.split(",")[0]),
            }
            with open(options["--jsonl"], "a") as out:  # noqa: PTH123
                out.write(as_json(line) + "\n")
            if end == "crash":
                crash()
            if end == "hang":
                time.sleep(600)
        if end == "refuse":
            return 1
    if mode == "probe end crash":
        crash()
    if mode == "probe end hang":
        time.sleep(600)
    return 0


def parse(words: list[str]) -> tuple[list[tuple[str, dict[str, str]]], dict[str, str]]:
    """The benchmarks with the axes that follow their names, and all options."""
    benchmarks: list[tuple[str, dict[str, str]]] = []
    options: dict[str, str] = {}
    rest = iter(words)
    for word in rest:
        if word in ("--as-library", "--reversed", "--no-counters"):
            options[word] = ""
            continue
        if not word.startswith("--"):
            benchmarks.append((word, {}))
            continue
        options[word] = next(rest)
        if word == "--sizes":
            options[word] = options[word].replace("K", "*1024").replace("M", "*1048576")
            sizes = [size.partition("*") for size in options[word].split(",")]
            options[word] = ",".join(str(int(size) * int(unit or 1)) for size, _, unit in sizes)
        if word in ("--calls", "--reuse", "--touch", "--staging") and benchmarks:
            benchmarks[-1][1][word[2:]] = options[word]
    return benchmarks, options


MODES = ("pair", "tcp", "memory", "gpu", "verbs")


def samples(
    benchmark: str, axes: dict[str, str], size: int, options: dict[str, str]
) -> list[dict[str, object]]:
    """The records of one case: of a library that it begins, and one for each metric."""
    mode = benchmark if benchmark in MODES else None
    names = [benchmark]
    if mode:
        names = [word for word in options.get("--metrics", "latency").split(",") if word in METRICS]
        axes = {"reuse": options.get("--reuse", "fixed"), "touch": options.get("--touch", "none")}
    if "--as-library" in options:
        mode, axes = None, {**axes, "calls": "blocking"}
    buffers = options.get("--buffers", "H,H")
    case = {"benchmark": benchmark, "size_bytes": size, "buffers": buffers, "axes": axes}
    begun: list[dict[str, object]] = [] if benchmark in MODES else [{"record": "case", **case}]
    return begun + [
        {**sample(metric, size, options), "benchmark": name, "axes": axes, "method": mode}
        for name in names
        for metric in METRICS[name]
    ]


METRICS: dict[str, list[dict[str, str]]] = {
    other["name"]: other["metrics"]  # type: ignore[misc]
    for other in DESCRIPTION["benchmarks"]  # type: ignore[attr-defined]
}


def sample(metric: dict[str, str], size: int, options: dict[str, str]) -> dict[str, object]:
    """One record."""
    noisy = os.environ.get("NEARPEAK_FAKE") == "noisy"
    scale = 1 + int(options["--seed"]) % 101 / 100 if noisy else 1
    times = 0.5 if "NEARPEAK_FAKE_FAST" in os.environ else 1.0
    if "NEARPEAK_FAKE_SHORT" in os.environ:
        times *= 0.5 if size < 4096 else 4.0
    scale *= times if metric["better"] == "lower" else 1 / times
    return {
        "record": "samples",
        "metric": metric["name"],
        "size_bytes": size,
        "buffers": options.get("--buffers", "H,H"),
        "unit": metric["unit"],
        "better": metric["better"],
        "samples": [scale * value for value in (1.0, 1.1, 1.2)],
        "offset": 0,
        "verified": True,
        "together": False,
        "phases": {},
        "batch": 1,
        "kept_every": 1,
        "iterations": 3,
        "warmup_iterations": 1,
        "first_use_us": 2.0,
        "window": 64,
        "seconds": 0.001,
    }


def problem(benchmark: str, axes: dict[str, str], size: int, status: str) -> dict[str, object]:
    """The record of a case that gave no number."""
    return {
        "record": "problem",
        "benchmark": benchmark,
        "size_bytes": size,
        "buffers": "H,H",
        "axes": axes,
        "status": status,
        "message": "rank 1 got 7 for 8 at byte 3",
    }


def main() -> int:
    if sys.argv[1] == "--describe":
        print(as_json(DESCRIPTION))
        return 0
    if sys.argv[1] == "--check":
        bad = [word for word in sys.argv if word.rpartition("=")[2] == "bad"]
        if bad:
            print(f"nearpeak-mpi: {bad[0]} is refused", file=sys.stderr)
        if "noted" in sys.argv:
            print("nearpeak-mpi: calls is for bw", file=sys.stderr)
        return 2 if bad else 0
    if "--help" in sys.argv:
        print("OPTIONS of", *sys.argv[1:])
        return 0
    if sys.argv[1] == "probe":
        return probe(sys.argv[2:], os.environ.get("NEARPEAK_FAKE", ""))
    for words in parts(sys.argv[1:]):
        if (status := measure(words)) != 0:
            return status
    return 0


def parts(words: list[str]) -> list[list[str]]:
    """The command lines that a + parts."""
    found: list[list[str]] = [[]]
    for word in words:
        if word == "+":
            found.append([])
        else:
            found[-1].append(word)
    return found


def measure(words: list[str]) -> int:
    """Answers one command line."""
    benchmarks, options = parse(words)
    mode = os.environ.get("NEARPEAK_FAKE", "")
    out = open(options["--jsonl"], "a") if "--jsonl" in options else sys.stdout  # noqa: PTH123, SIM115

    def write(record: dict[str, object]) -> None:
        out.write(as_json(record) + "\n")
        out.flush()

    cpus = [
        [int(cpu) for cpu in own.split(",")]
        for own in os.environ.get("NEARPEAK_FAKE_CPUS", "0;1").split(";")
    ]
    if "--cpus" in options and words[0] != "memory":
        cpus = [[int(cpu)] for cpu in options["--cpus"].split(",")]
    taken = devices(options, len(cpus))
    if "--reversed" in options:
        cpus, taken = cpus[::-1], taken[::-1]
    hosts = os.environ.get("NEARPEAK_FAKE_HOSTS", ";".join("h" * len(cpus))).split(";")
    if mode == "one host":
        hosts = ["h"] * len(cpus)
    if mode == "other host":
        hosts = ["h", "g"]
    if mode.startswith("misplaced"):
        cpus = [[99], cpus[1]]
    where = write if mode != "nowhere" else lambda _: None
    where(
        {
            "record": "environment",
            "program": "fake",
            "version": "0",
            "library_version": os.environ.get("NEARPEAK_FAKE_LIBRARY"),
            "ranks": [
                {"rank": rank, "host": host, "cpus": own, "device": device}
                for rank, (host, own, device) in enumerate(zip(hosts, cpus, taken, strict=True))
            ],
            "clock": {"tick_ns": 1.0},
            "env": {},
        }
    )
    for benchmark, axes in benchmarks:
        if mode == f"crash in {benchmark}":
            write(samples(benchmark, axes, int(options["--sizes"].split(",")[0]), options)[0])
            crash()
        sizes = options.get("--sizes", "8").split(",")
        if mode in ("some", "skip"):
            sizes.pop()
        for size in sizes * (2 if mode == "twice" else 1):
            for record in samples(benchmark, axes, 77 if mode == "lie" else int(size), options):
                write(record)
            if mode == "late crash":
                crash()
        if mode == "skip":
            write(problem(benchmark, axes, int(options["--sizes"].split(",")[-1]), "skipped"))
    if mode == "abort 3":  # as a library may end its ranks, by the class of the error
        os.truncate(options["--jsonl"], 0)
        print("check(107): Invalid datatype", file=sys.stderr)
        return 3
    if mode == "crash":
        os.truncate(options["--jsonl"], 0)
        crash()
    if mode in ("hang", "misplaced and hang"):
        time.sleep(600)
    if mode == "orphan":
        import subprocess  # a fourth of what an answer takes

        subprocess.Popen(["sleep", "601"], start_new_session=True)
        time.sleep(600)
    if mode == "late exit 1":
        return 1
    if mode == "half":
        out.write('{"record": "samp')
    if mode == "wrong half":
        out.write('{"record": "problem", "status": "wrong da')
        return 3
    if mode == "wrong":
        size = int(options["--sizes"].split(",")[0])
        write(problem(*benchmarks[0], size, "wrong data"))
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(main())
