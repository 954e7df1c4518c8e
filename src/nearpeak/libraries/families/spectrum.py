# SPDX-License-Identifier: Apache-2.0
"""IBM Spectrum MPI, which is made from Open MPI.

Not yet run: its version text, the name of its library and its flags are from memory.
"""

from nearpeak.libraries.families import Family
from nearpeak.libraries.library import Settings

FAMILY = Family(
    name="spectrum",
    title="IBM Spectrum MPI",
    version_pattern=r"IBM Spectrum MPI\D*([\d.]+\d)",
    abi="openmpi",
    header_mark="OMPI_MAJOR_VERSION",
    pmi=("pmix",),
    launcher="orte",
    launcher_mark=r"Spectrum MPI",
    gpu=Settings(name="gpu", flags=["-gpu"]),
)
