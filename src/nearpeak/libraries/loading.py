# SPDX-License-Identifier: Apache-2.0
"""Loads the plugins of an MPI library, and the modules of UCX, Open MPI and libfabric.

A Python without packages runs the text of this file in a process that has the MPI library
(identify.py), so it imports nothing of Nearpeak.
"""

import ctypes
import json
import os
import re
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

SECONDS = 60  # for one module, also on a busy machine: a driver alone takes some of them
UCX = ("uct", "ucm", "ucx_perftest")  # prefixes of the names of its modules, after `lib`
ALLOCATIONS = 1 << 20 | 1 << 21  # UCM_EVENT_MEM_TYPE_ALLOC and _FREE (src/ucm/api/ucm.h in UCX)


def text() -> str:
    """The text of this file."""
    return Path(__file__).read_text("utf-8")


def load(file: str, mode: int = os.RTLD_LAZY) -> str:
    """Loads a shared library as UCX and Open MPI do; returns the loader's error, or "".

    ctypes.CDLL looks up all names at once, which they do not.
    """
    libc = ctypes.CDLL(None)
    libc.dlopen.restype, libc.dlopen.argtypes = ctypes.c_void_p, [ctypes.c_char_p, ctypes.c_int]
    libc.dlerror.restype = ctypes.c_char_p
    if libc.dlopen(os.fsencode(file), mode):
        return ""
    return (libc.dlerror() or b"the loader does not say why").decode(errors="replace")


def is_loaded(name: str) -> bool:
    """True if this process has loaded a library of this name."""
    return not load(name, os.RTLD_LAZY | os.RTLD_NOLOAD)


def mapped() -> list[Path]:
    """The files that this process has mapped."""
    lines = Path("/proc/self/maps").read_text("utf-8", errors="replace").splitlines()
    return [Path(fields[5]) for line in lines if len(fields := line.split(maxsplit=5)) == 6]


def beside(name: str, folder: str) -> list[Path]:
    """The folder of this name beside each loaded library whose file name begins with `name`."""
    places = [file.resolve().parent / folder for file in mapped() if file.name.startswith(name)]
    return list(dict.fromkeys(places))


def named(variable: str) -> list[Path]:
    """The folders in a variable of the environment."""
    return [Path(word.lstrip("@+")) for word in os.environ.get(variable, "").split(":") if word]


def load_plugins(libmpi: str) -> None:
    """Loads the libraries that an MPI library loads when it starts, which find the modules."""
    load(libmpi, os.RTLD_LAZY | os.RTLD_GLOBAL)  # old components of Open MPI do not name it
    for folder in openmpi_folders(libmpi):
        load(str(folder / "mca_pml_ucx.so"))
    if libfabric := os.environ.get("I_MPI_OFI_LIBRARY"):
        load(libfabric)


def openmpi_folders(libmpi: str) -> list[Path]:
    """The folders of Open MPI's components."""
    return sorted(Path(libmpi).resolve().parent.glob("openmpi*"))


def ucx_folders() -> list[Path]:
    """The folders of UCX's modules, in its order (src/ucs/sys/module.c in UCX)."""
    return [*beside("libucs.so", "ucx"), *named("UCX_MODULE_DIR")]


def libfabric_folders() -> list[Path]:
    """The folders of libfabric's providers."""
    return [*named("FI_PROVIDER_PATH"), *beside("libfabric.so", "libfabric")]


def module_files(libmpi: str) -> dict[str, str]:
    """The path of each module by its name; of several with one name the first is loaded."""
    places = [
        *((folder, f"lib{kind}_*.so.0") for folder in ucx_folders() for kind in UCX),
        *((folder, "lib*-fi.so") for folder in libfabric_folders()),
        *((folder, "mca_*.so") for folder in openmpi_folders(libmpi)),
    ]
    files = [file for folder, pattern in places for file in sorted(folder.glob(pattern))]
    firsts = {file.name: str(file) for file in reversed(files)}
    return {file.name: firsts[file.name] for file in files}


def missing_libraries(file: str, error: str) -> list[str]:
    """The libraries that a file needs, also through others, and that the loader does not find.

    `error`: the loader's message, which names the first of them only.
    """
    loader = next((name for name in mapped() if re.match(r"ld[-.]", name.name)), None)
    listing = b""
    if loader:
        env = {**os.environ, "LD_TRACE_LOADED_OBJECTS": "1"}  # as ldd does: no code is run
        listing = subprocess.run([loader, file], env=env, capture_output=True, check=False).stdout
    lines = listing.decode(errors="replace")
    names = re.findall(r"^\s*(\S+) => not found", lines, re.MULTILINE)
    names += re.findall(r"^([^/\s]+): cannot open shared object file", error)
    return [name for name in dict.fromkeys(names) if not is_loaded(name)]


def attempt(file: str, others: dict[str, str]) -> dict[str, Any]:
    """Loads a module, after the modules that it needs, which UCX would have loaded before.

    `others`: the files of all modules by their names.
    """
    error = load(file)
    missing = missing_libraries(file, error) if error else []
    needed = [others[name] for name in missing if name in others]
    for other in needed:
        if problem := load(other):
            missing += missing_libraries(other, problem)
    if needed:
        error = load(file)
        missing = [name for name in dict.fromkeys(missing) if error and name not in others]
    return {"file": file, "missing": missing, "error": error}


def run_in_child(work: Callable[[], Any]) -> tuple[Any, str, str]:
    """Runs `work` in a child process.

    Returns its result as of JSON, the child's output, and the reason of a missing result or "".
    """
    out, into = os.pipe()
    child = os.fork()
    if not child:
        status = 1
        try:
            os.dup2(into, 1)
            os.dup2(into, 2)
            signal.alarm(SECONDS)
            os.write(1, b"\0" + json.dumps(work()).encode())
            status = 0
        finally:
            os._exit(status)
    os.close(into)
    with os.fdopen(out, "rb") as reader:
        printed, _, result = reader.read().decode(errors="replace").rpartition("\0")
    status = os.waitpid(child, 0)[1]
    if not status:
        return json.loads(result), printed, ""
    return None, printed + result, _end_reason(status, printed + result)


def _end_reason(status: int, printed: str) -> str:
    """Describes how a process ended, by its wait status."""
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGALRM:
        return f"it takes more than {SECONDS} s"
    if os.WIFSIGNALED(status):
        return f"it ends the process with signal {os.WTERMSIG(status)}"
    lines = printed.strip().splitlines()
    return lines[-1] if lines else f"it ends the process with status {os.WEXITSTATUS(status)}"


def try_module(file: str, others: dict[str, str]) -> dict[str, Any]:
    """Runs `attempt` in a child process."""
    result, _, reason = run_in_child(lambda: attempt(file, others))
    return result or {"file": file, "missing": [], "error": reason}


def hooks() -> dict[str, int] | None:
    """The number of CUDA calls that UCX watches for allocations by API; None without UCX or driver.

    UCX prints it with UCX_MEM_LOG_LEVEL=info. It loads the module for that by itself.
    """

    def install() -> bool:
        if load("libcuda.so.1") or not is_loaded("libucm.so.0"):
            return False
        kind = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
        ucm = ctypes.CDLL("libucm.so.0")
        ucm.ucm_set_event_handler(ALLOCATIONS, 0, kind(lambda *_: None), None)
        return True

    installed, printed, _ = run_in_child(install)
    if not installed:
        return None
    return {api: int(number) for number, api in re.findall(r"installed (\d+) on (\w+)", printed)}


def answer(libmpi: str) -> str:
    """Tries each module and counts the hooks; the result as JSON, which whole.py reads."""
    load_plugins(libmpi)
    files = module_files(libmpi)
    modules = [try_module(file, files) for file in files.values()]
    return json.dumps({"modules": modules, "hooks": hooks()})
