# SPDX-License-Identifier: Apache-2.0
"""docs/reference/commands.md, made of the tree of commands."""

import inspect
import re
from collections.abc import Iterable, Iterator
from typing import Any

import typer.main

from nearpeak.cli.document.beginning import first
from nearpeak.cli.main import build_app
from nearpeak.markdown import code, filled, table

BEGINNING = """The commands of `nearpeak`, as `--help` prints them. [Exit
statuses](exit-statuses.md) and [environment variables](environment.md) have pages of their own."""
# In a help: the headings after the description, at which it is divided.
HEADING = re.compile(r"(?:^| )(Exit status|Examples?)\b[^:\n]*:", re.MULTILINE)
DEFAULT = re.compile(r" ?\bDefault: (.*?)\.(?= (?!Default then)|$)")


def page() -> str:
    """The complete page."""
    parts = [
        part
        for name, command in tree(typer.main.get_command(build_app()), "nearpeak")
        for part in _parts(name, command)
    ]
    return first("Commands", "commands", BEGINNING) + "".join(f"\n{part}\n" for part in parts)


def tree(command: Any, name: str) -> Iterator[tuple[str, Any]]:
    """Yields a command and all below it, each with the words that call it."""
    yield name, command
    for word, part in sorted(getattr(command, "commands", {}).items()):
        yield from tree(part, f"{name} {word}")


def _parts(name: str, command: Any) -> Iterator[str]:
    context = command.context_class(command, info_name=name)
    yield f"## {name}"
    yield f"```text\n{' '.join([name, *command.collect_usage_pieces(context)])}\n```"
    description, *sections = HEADING.split(inspect.cleandoc(command.help))
    yield from (filled(text) for text in description.split("\n\n") if text.strip())
    if command.params:
        rows = [_row(param, context) for param in command.params]
        yield table(("Option", "Value", "Default", "Meaning"), rows).rstrip()
    for heading, text in zip(sections[::2], sections[1::2], strict=True):
        if heading.startswith("Example"):
            yield "```sh\n" + "\n".join(examples(text)) + "\n```"


def examples(text: str) -> Iterable[str]:
    """The command lines of a help's examples: paragraphs, or one with a | between two of them."""
    if text.startswith("\n"):
        return [" ".join(line.split()) for line in text.split("\n\n") if line.strip()]
    return re.split(r" \| (?=nearpeak )", " ".join(text.split()))


def _row(param: Any, context: Any) -> tuple[str, str, str, str]:
    argument = param.param_type_name == "argument"
    names = [param.make_metavar(context)] if argument else [*param.opts, *param.secondary_opts]
    help_text = " ".join((param.help or "").split())
    stated = DEFAULT.search(help_text)
    default = stated[1] if stated else _default(param)
    meaning = DEFAULT.sub("", help_text, count=1).strip()
    if getattr(param, "multiple", False) and "several times" not in meaning:
        meaning += " Can be repeated."
    return ", ".join(map(code, names)), "" if argument else _value(param), default, meaning


def _default(param: Any) -> str:
    if param.required:
        return "required"
    if param.default is True:
        return str(param.opts[0])
    return "" if param.default in (None, False) else str(param.default)


def _value(param: Any) -> str:
    if param.is_flag:
        return ""
    least = getattr(param.type, "min", None)
    value = code(param.metavar or param.type.name.split()[0].upper())
    return value if least is None else f"{value}, at least {least}"
