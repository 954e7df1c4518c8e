# SPDX-License-Identifier: Apache-2.0
"""Libraries that send to other hosts by UCX, which takes its adapter from UCX_NET_DEVICES."""

import os
import re

from nearpeak.libraries.library import Library, Settings
from nearpeak.libraries.loading import openmpi_folders

_NETMOD = re.compile(r"^\S+ Device:\s+ch4:(\w+)", re.MULTILINE)  # the first one is taken by default
_PML = re.compile(r"\bpml[ =](\S+)")


def sends_over_ucx(library: Library, settings: Settings) -> bool:
    """True if these settings leave UCX to a library that was built with it. Open MPI then takes it
    where there are adapters for it. False also of a library that does not say what it takes."""
    env = {**os.environ, **library.env, **settings.env}
    if library.family == "openmpi":
        asked = _PML.search(" ".join(settings.flags))
        pml = asked[1] if asked else env.get("OMPI_MCA_pml", "ucx")
        return pml == "ucx" and _openmpi_has_ucx(library)
    if netmod := _NETMOD.search(library.version_text):
        return env.get("MPIR_CVAR_CH4_NETMOD", netmod[1]) == "ucx"
    return False


def _openmpi_has_ucx(library: Library) -> bool:
    """True if it has the component, as a module or within the library."""
    libmpi = library.libmpi
    folders = openmpi_folders(str(libmpi))
    if any((folder / "mca_pml_ucx.so").exists() for folder in folders):
        return True
    return libmpi.is_file() and b"libucp.so" in libmpi.read_bytes()
