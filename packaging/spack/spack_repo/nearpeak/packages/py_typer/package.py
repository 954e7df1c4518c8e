# SPDX-License-Identifier: Apache-2.0

from spack_repo.builtin.packages.py_typer.package import PyTyper as BuiltinPyTyper

from spack.package import *


class PyTyper(BuiltinPyTyper):
    """A version that builtin does not have."""

    version("0.29.1", sha256="ab6eb3880bf67ce96147734717f9ec333c06f66e361f3ea947d0be43da39f242")

    with default_args(type=("build", "run"), when="@0.29:"):
        depends_on("py-annotated-doc@0.0.2:")
        depends_on("py-pydantic@2.5.3:")
        depends_on("py-rich@13.8:")
