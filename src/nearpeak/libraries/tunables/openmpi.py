# SPDX-License-Identifier: Apache-2.0
"""Open MPI, asked by ompi_info."""

from nearpeak.libraries.library import Library
from nearpeak.libraries.tunables.answer import Answer, output_of

MOST = "9"  # without it, only parameters for end users are listed
# Listed with a wrong value: in pml_ucx_component.c of Open MPI 5.0 it is a local variable.
UNTOLD = ("OMPI_MCA_pml_ucx_multi_send_nb",)


def ask(library: Library) -> Answer:
    """Its MCA parameters, as variables. CannotIdentify."""
    return parse(output_of("ompi_info", ["--all", "--parsable", "--level", MOST], library))


def parse(text: str) -> Answer:
    """Parses lines like `mca:btl:sm:param:btl_sm_eager_limit:value:4096`, and for words as values
    `mca:coll:tuned:param:coll_tuned_bcast_algorithm:enumerator:value:1:basic_linear`.

    A parameter that components share is listed only as the original of a synonym of each.
    """
    values = {}
    numbers: dict[str, dict[str, int]] = {}
    for line in text.splitlines():
        fields = line.split(":", 6)
        if len(fields) < 7 or (fields[0], fields[3]) != ("mca", "param"):
            continue
        name, kind, value = fields[4:]
        if kind == "value":
            values[f"OMPI_MCA_{name}"] = value.strip('"')
        elif kind == "synonym_of":
            original = value.removeprefix("name:")
            values[f"OMPI_MCA_{original}"] = values.get(f"OMPI_MCA_{name}", "")
        elif kind == "enumerator":
            _, number, word = value.split(":", 2)
            numbers.setdefault(f"OMPI_MCA_{name}", {})[word] = int(number)
    untold = {name: "" for name in UNTOLD if name in values}
    return Answer({**values, **untold}, numbers=numbers)
