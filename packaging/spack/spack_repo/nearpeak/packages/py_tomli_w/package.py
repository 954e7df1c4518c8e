# SPDX-License-Identifier: Apache-2.0

from spack_repo.builtin.packages.py_tomli_w.package import PyTomliW as BuiltinPyTomliW

from spack.package import *


class PyTomliW(BuiltinPyTomliW):
    """A version that builtin does not have."""

    pypi = "tomli_w/tomli_w-1.2.0.tar.gz"

    version("1.2.0", sha256="2dd14fac5a47c27be9cd4c976af5a12d87fb1f0b4512f81d69cce3b35ae25021")
