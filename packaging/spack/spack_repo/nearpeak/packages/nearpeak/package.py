# SPDX-License-Identifier: Apache-2.0

from pathlib import Path

from spack_repo.builtin.build_systems.python import PythonPackage

from spack.package import *


class Nearpeak(PythonPackage):
    """Measures how near MPI libraries come to what the data paths of a machine carry without MPI,
    in host memory and between GPUs."""

    # The checkout that this recipe lies in.
    git = f"file://{Path(__file__).resolve().parents[6]}"

    license("Apache-2.0")

    version("main", branch="main")

    variant("plot", default=False, description="Pictures of solutions that are no page")

    # The measuring programs are compiled at first use, by the compiler that is on PATH then.
    depends_on("cmake@3.22:", type="run")
    depends_on("ninja", type="run")

    depends_on("python@3.10:", type=("build", "run"))
    depends_on("py-setuptools@80.9", type="build")

    with default_args(type="run"):
        depends_on("py-typer@0.28")
        depends_on("py-rich@15")
        depends_on("py-msgspec@0.22")
        depends_on("py-numpy@2.2:2")
        depends_on("py-scipy@1.15:1")
        depends_on("py-jinja2@3.1.6:3.1")
        depends_on("py-psutil@7")
        depends_on("py-nvidia-ml-py@13")
        depends_on("py-packaging@25:")
        depends_on("py-tomli@2.2:", when="^python@:3.10")
        depends_on("py-tomli-w@1.2:1")
        depends_on("py-optuna@4.5:4")
        depends_on("py-matplotlib@3.10", when="+plot")
