# SPDX-License-Identifier: Apache-2.0
"""The UCX that a library loads, asked like ucx_info does, in a process that has the library.

It is the same UCX as in a launch. Libraries bring UCX without ucx_info.
"""

from collections.abc import Iterable

from nearpeak.libraries import loading
from nearpeak.libraries.identify import ask as ask_file
from nearpeak.libraries.launch import environment
from nearpeak.libraries.library import Library
from nearpeak.libraries.tunables.answer import Answer

# The names that each module of UCX reads. A module that lacks a library of the machine, like that
# of the CUDA driver, is not loaded, and its names are not listed.
MODULES = {
    "cma": ("UCX_CMA_",),
    "cuda": ("UCX_CUDA_COPY_", "UCX_CUDA_IPC_"),
    "cuda_gdrcopy": ("UCX_GDR_COPY_",),
    "gdrcopy": ("UCX_GDR_COPY_",),
    "ib": ("UCX_IB_", "UCX_RC_", "UCX_UD_", "UCX_DC_"),
    "knem": ("UCX_KNEM_",),
    "rocm": ("UCX_ROCM_",),
    "xpmem": ("UCX_XPMEM_",),
}

# Open MPI may have UCX in a plugin, which is loaded as the library does. What is not loaded then
# (RTLD_NOLOAD) is not used either. The functions are those of src/tools/info/ucx_info.c and
# src/ucs/config/parser.h in UCX.
QUESTION = """
load_plugins(sys.argv[1])
def loaded(name):
    return ctypes.CDLL(name, mode=os.RTLD_NOLOAD | os.RTLD_LAZY)
try:
    ucp = loaded("libucp.so.0")
except OSError:
    sys.exit()
ucp.ucp_get_version_string.restype = ctypes.c_char_p
print("version", ucp.ucp_get_version_string().decode(), flush=True)
uct, ucs, libc = loaded("libuct.so.0"), loaded("libucs.so.0"), ctypes.CDLL(None)
for folder in ucx_folders():
    for file in folder.glob("libuct_*.so*"):
        print("module", file.name[len("libuct_"):].partition(".")[0], flush=True)
components, count = ctypes.c_void_p(), ctypes.c_uint()
if uct.uct_query_components(ctypes.byref(components), ctypes.byref(count)):
    sys.exit("uct_query_components failed")
out = ctypes.c_void_p.in_dll(libc, "stdout")
tables = ctypes.c_char.in_dll(ucs, "ucs_config_global_list")
values = ctypes.c_uint64(1)  # UCS_CONFIG_PRINT_CONFIG
ucs.ucs_config_parser_print_all_opts(out, b"UCX_", values, ctypes.byref(tables), None)
libc.fflush(out)
"""


def ask(library: Library) -> Answer:
    """Its variables; none where the library does not load UCX. CannotIdentify."""
    question = f"{loading.text()}\n{QUESTION}"
    return parse(ask_file(library.libmpi, question, environment(library)))


def _is_read(prefix: str, names: Iterable[str]) -> bool:
    return any(name.startswith(prefix) for name in names)


def parse(text: str) -> Answer:
    """Parses `version VERSION`, `module NAME`, and `NAME=VALUE` as ucx_info -c prints it."""
    lines = text.splitlines()
    pairs = [line.partition("=") for line in lines if line.startswith("UCX_")]
    values = {name: value for name, _, value in pairs}
    modules = {line.removeprefix("module ") for line in lines if line.startswith("module ")}
    hidden = [
        prefix
        for module in sorted(modules)
        for prefix in MODULES.get(module, ())
        if not _is_read(prefix, values)
    ]
    versions = [line.partition(" ")[2] for line in lines if line.startswith("version ")]
    return Answer(values, tuple(dict.fromkeys(hidden)), "".join(versions))
