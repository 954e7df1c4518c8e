# SPDX-License-Identifier: Apache-2.0

from spack_repo.builtin.build_systems.python import PythonPackage

from spack.package import *


class PyAnnotatedDoc(PythonPackage):
    """Documentation of parameters in their annotations; typer needs it."""

    pypi = "annotated-doc/annotated_doc-0.0.6.tar.gz"

    license("MIT")

    version("0.0.6", sha256="7969bb69912085b2285849c0dcac0b4b374fd180c13cf10a87f284ffcf347bbf")

    depends_on("python@3.10:", type=("build", "run"))
    depends_on("py-pdm-backend", type="build")
