# SPDX-License-Identifier: Apache-2.0
"""The reference of a published format, made from its structs and the comments of their fields.

`python -m nearpeak.reference results > docs/reference/results.md` renews the page of results.json.
A page begins with the docstring of the format's schema module. A field's type is that of the JSON
Schema, its meaning the field's comment.
"""

import inspect
import sys
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any

from nearpeak.fields import descriptions, enumerations, structs
from nearpeak.markdown import code, filled, linked, table

# Each format's schema module. Its names: the docstring, TITLE, WHOLE (the outermost struct, or the
# union of those that a line may be) and schema().
FORMATS = {
    "compare": "nearpeak.compare.schema",
    "conform": "nearpeak.conform.schema",
    "explain": "nearpeak.explain.schema",
    "history": "nearpeak.history.schema",
    "nodes": "nearpeak.nodes.schema",
    "records": "nearpeak.study.schema",
    "results": "nearpeak.results.schema",
    "trace": "nearpeak.trace.schema",
    "tuning": "nearpeak.tune.schema",
}
MANY = 12  # values of an enumeration: more have a page elsewhere, which the meaning names
Enumerations = dict[frozenset[str], tuple[str, dict[str, str]]]


def page(name: str) -> str:
    """The complete page of a format."""
    module = import_module(FORMATS[name])
    declared = module.schema()["$defs"]
    version = next(filter(None, map(_version, declared.values())))
    parts = [f"# {module.TITLE}, version {version}", _text(inspect.getdoc(module) or "")]
    parts += [
        f"Made of the structs by `python -m nearpeak.reference {name} > docs/reference/{name}.md`.",
        f"JSON Schema (draft 2020-12): [{name}.schema.json](../{name}.schema.json), made by"
        f" `python -m {FORMATS[name]} > docs/{name}.schema.json`.",
    ]
    kinds = structs(module.WHOLE)
    titles = {kind: _title(struct) for kind, struct in kinds.items()}
    shown: set[str] = set()
    for kind, struct in kinds.items():
        parts += _struct(struct, declared.get(kind, {}), titles, shown)
    return "\n\n".join(parts) + "\n"


def _version(struct: dict[str, Any]) -> int:
    version: int = struct.get("properties", {}).get("schema", {}).get("const", 0)
    return version


def _title(struct: type) -> str:
    """The word that a line says of its kind, or the struct's name."""
    config = getattr(struct, "__struct_config__", None)
    return str(getattr(config, "tag", None) or struct.__name__)


def _struct(
    struct: type, declared: dict[str, Any], titles: dict[str, str], shown: set[str]
) -> Iterator[str]:
    """The section of a struct, and those of its enumerations that are not shown yet."""
    yield f"## {titles[struct.__name__]}"
    yield _text(inspect.getdoc(struct) or "")
    if "properties" not in declared:
        meanings = descriptions(struct).items()
        kinds = (_kind(kind, titles, {}) for kind in declared["prefixItems"])
        rows = [
            (str(index), kind, f"{name}: {text}")
            for index, (kind, (name, text)) in enumerate(zip(kinds, meanings, strict=True))
        ]
        yield _table(("Item", "Type", "Meaning"), rows)
        return
    named = enumerations(struct)
    fields = declared["properties"].items()
    yield _table(
        ("Field", "Type", "Meaning"),
        [
            (f"`{name}`", _kind(field, titles, named), field.get("description", ""))
            for name, field in fields
        ],
    )
    for values in (values for _, field in fields for values in _enumerated(field)):
        name, texts = named.get(values, ("", {}))
        if name and name not in shown:
            shown.add(name)
            yield f"## {name}"
            yield _table(("Value", "Meaning"), [(_value(value), texts[value]) for value in texts])


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return linked(table(head, rows).rstrip())


def _enumerated(declared: dict[str, Any]) -> Iterator[frozenset[str]]:
    """The values of each enumeration in a field, also behind null, in a list, or as keys."""
    if "enum" in declared:
        yield frozenset(declared["enum"]) - {None}
    inner = [declared.get(name) for name in ("items", "additionalProperties", "propertyNames")]
    for part in (*declared.get("anyOf", ()), *inner):
        if isinstance(part, dict):
            yield from _enumerated(part)


def _kind(declared: dict[str, Any], titles: dict[str, str], named: Enumerations) -> str:
    """A field's type in words of JSON."""
    match declared:
        case {"const": _}:
            return "integer"
        case {"$ref": str(reference)}:
            title = titles[reference.rsplit("/", 1)[-1]]
            return f"[{title}](#{title.lower().replace(' ', '-')})"
        case {"anyOf": choices}:
            return " or ".join(_kind(choice, titles, named) for choice in choices)
        case {"enum": values}:
            return _choices(values, named)
        case {"prefixItems": items}:
            return f"[{', '.join(_kind(item, titles, named) for item in items)}]"
        case {"items": dict(item)}:
            return f"list of {_grouped(_kind(item, titles, named))}"
        case {"additionalProperties": dict(item)}:
            return f"object of {_grouped(_kind(item, titles, named))}"
    return str(declared["type"])


def _grouped(kind: str) -> str:
    """Parenthesises alternatives, so that `or null` belongs to the items."""
    return f"({kind})" if " or " in kind else kind


def _choices(values: list[str | None], named: Enumerations) -> str:
    texts = [value for value in values if value is not None]
    null = ["null"] if None in values else []
    if frozenset(texts) in named:
        name, _ = named[frozenset(texts)]
        return " or ".join([f"[{name}](#{name.lower()})", *null])
    if len(texts) > MANY:
        return " or ".join(["string", *null])
    return " or ".join([*map(_value, texts), *null])


def _value(value: str) -> str:
    return code(value) or "empty"


def _text(text: str) -> str:
    """Paragraphs of a docstring; lists stay as they are."""
    paragraphs = text.split("\n\n")
    return linked("\n\n".join(part if part[:2] == "- " else filled(part) for part in paragraphs))


if __name__ == "__main__":
    print(page(sys.argv[1]), end="")
