# SPDX-License-Identifier: Apache-2.0

from spack_repo.builtin.packages.py_typer.package import PyTyper as BuiltinPyTyper

from spack.package import *


class PyTyper(BuiltinPyTyper):
    """A version that builtin does not have."""

    version("0.28.0", sha256="69ab84ef79fd601cff071bbd2566d855ecadfd93adbc4b3360b9924359bdd857")

    with default_args(type=("build", "run"), when="@0.28:"):
        depends_on("py-annotated-doc@0.0.2:")
        depends_on("py-rich@13.8:")
