# SPDX-License-Identifier: Apache-2.0
"""Files of a profile for a shell, a module system or a library."""

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from shlex import quote

import msgspec

from nearpeak.errors import UserError
from nearpeak.files import make_folder, write_whole
from nearpeak.libraries import preload
from nearpeak.libraries.launch import SEARCH_PATHS
from nearpeak.libraries.profiles import Apart, Evidence, Profile, first_line, to_toml

ONLY = "only-"  # prefix of the folders of profiles for one path
NAMES = (
    "profile.toml",
    "profile.sh",
    "modulefile",
    "openmpi-mca-params.conf",
    "openmpi-rules.conf",
    "ucx.conf",
    *preload.LIBRARIES,
)
JOINED = (*SEARCH_PATHS, preload.VARIABLE)  # variables that are put before their present value
_MCA = "OMPI_MCA_"  # Open MPI's parameters as environment variables
_UCX = "UCX_"
ANYWAY = "What Nearpeak sets for this library in any case"
TUNED = "What was tuned"
NOT_PRELOADED = (
    ": a rank that does not find it runs without, and where it is the layer, crashes on device"
    " buffers"
)
OTHERWISE = (
    ": of ranks that find it and ranks that do not, each takes another algorithm, and they may hang"
)
LEFT_OUT = "Nearpeak gives its launches these variables, and measured this profile without them"


def withdraw(output: Path) -> None:
    """Removes the files of all profiles in the folder of a tuning, since a new result may have
    fewer. UserError if that fails."""
    try:
        for name in NAMES:
            for file in [output / name, *output.glob(f"{ONLY}*/{name}")]:
                file.unlink(missing_ok=True)
    except OSError as error:
        raise UserError(
            f"cannot remove {error.filename} ({error.strerror}), which may hold no more: remove it"
        ) from None
    for folder in output.glob(f"{ONLY}*"):
        with contextlib.suppress(OSError):  # it holds other files
            folder.rmdir()


def write(profile: Profile, folder: Path) -> list[Path]:
    """Writes the files of a profile, without those that the library does not use. Copies the files
    that variables name (`files`); UserError if one cannot be read."""
    make_folder(folder)
    if not preload.is_preloadable(
        folder.resolve()
    ):  # the preloaded library stays where it was built
        own_files = {k: v for k, v in profile.files.items() if k != preload.VARIABLE}
        profile = msgspec.structs.replace(profile, files=own_files)
    written = []
    copies = {name: _content(profile.env[variable]) for variable, name in profile.files.items()}
    copied = {variable: str(folder.resolve() / name) for variable, name in profile.files.items()}
    installed = msgspec.structs.replace(profile, env={**profile.env, **copied})
    contents: dict[str, str | bytes] = {**dict(_files(installed)), **copies}
    for name, content in contents.items():
        write_whole(folder / name, content)
        written.append(folder / name)
    return written


def _content(file: str) -> bytes:
    try:
        return Path(file).read_bytes()
    except OSError as error:
        raise UserError(
            f"{file} cannot be read ({error.strerror}), which the settings name: tune anew"
        ) from None


def _files(profile: Profile) -> Iterator[tuple[str, str]]:
    yield "profile.toml", to_toml(profile)
    yield "profile.sh", _lines(profile, [*_parts(profile, _exported), *_left_out(profile, "unset")])
    yield "modulefile", _module(profile)
    if mca := list(_parts(profile, _of_openmpi, _MCA)):
        yield "openmpi-mca-params.conf", _lines(profile, mca)
    if ucx := list(_parts(profile, _of_ucx, _UCX)):
        yield "ucx.conf", _lines(profile, ucx)


def _parts(
    profile: Profile, line: Callable[[str, str], list[str]], prefix: str = ""
) -> Iterator[str]:
    """Yields the lines of variables with this prefix: first those set in any case, then the tuned
    ones, which override them."""
    anyway = {k: v for k, v in profile.needed.items() if k in SEARCH_PATHS or k not in profile.env}
    for title, env in ((ANYWAY, anyway), (TUNED, profile.env)):
        chosen = {k: v for k, v in env.items() if k.startswith(prefix)}
        if chosen:
            yield f"# {title}:"
        for name, value in chosen.items():
            yield from line(name, value)


def _left_out(profile: Profile, command: str) -> Iterator[str]:
    """Yields the lines that unset variables, with the command of a shell or a module system."""
    if profile.unset:
        yield f"# {LEFT_OUT}:"
    yield from (f"{command} {name}" for name in profile.unset if name not in profile.env)


def _exported(name: str, value: str) -> list[str]:
    """Returns the lines for a shell."""
    suffix = f'"${{{name}:+:${name}}}"' if name in JOINED else ""
    return [f"export {name}={quote(value)}{suffix}"]


def _of_openmpi(name: str, value: str) -> list[str]:
    """Returns the lines for Open MPI's own file."""
    return [f"{name.removeprefix(_MCA)} = {value}"]


def _of_ucx(name: str, value: str) -> list[str]:
    """Returns the lines for UCX's own file."""
    return [f"{name}={value}"]


def _loaded(name: str, value: str) -> list[str]:
    """Returns the lines for a module system."""
    if name not in JOINED:
        return [f"setenv {name} {_tcl(value)}"]
    folders = reversed(value.split(":"))
    return [f"prepend-path {name} {_tcl(folder)}" for folder in folders if folder]


def _tcl(text: str) -> str:
    """Quotes a word for Tcl, so that nothing in it is substituted."""
    escaped = "".join(f"\\{char}" if char in '\\"$[]{}' else char for char in text)
    return f'"{escaped}"'


def _module(profile: Profile) -> str:
    """Returns the file for Environment Modules, and for Lmod, which reads such files too."""
    about = f"{profile.family} {profile.version} as nearpeak tuned it on {profile.host}"
    body = [
        f"module-whatis {_tcl(about)}",
        *_parts(profile, _loaded),
        *_left_out(profile, "unsetenv"),
    ]
    return "#%Module1.0\n" + _lines(profile, body)


def _lines(profile: Profile, body: Iterable[str]) -> str:
    header = [f"# {line}".rstrip() for line in about(profile)]
    return "\n".join([*header, *body]) + "\n"


def about(profile: Profile) -> list[str]:
    """Returns the header of the files: the origin of the profile, its use and its evidence."""
    machine = ", ".join(filter(None, [profile.cpu, *profile.gpus, profile.driver]))
    lines = [
        *first_line(profile),
        f"{profile.family} {profile.version}, tuned by nearpeak on {profile.host}, {profile.made}",
        *([f"Build: {profile.build}"] if profile.build else []),
        *(f"With {name} {version}" for name, version in profile.components.items() if version),
        f"Machine: {machine}",
        f"Use: {profile.scope}",
        *map(_distances_line, profile.distances, profile.distances.values()),
        *map(_evidence_line, profile.evidence),
    ]
    if profile.slower:
        lines.append("Slower with it:")
        lines += [f"  {_evidence_line(evidence)}" for evidence in profile.slower]
    if profile.breaks:
        lines.append("May stop working with it:")
        lines += [f"  {feature}" for feature in profile.breaks]
    lines += [
        f"{profile.env[variable]} must be there on each host of a job"
        + (NOT_PRELOADED if variable == preload.VARIABLE else OTHERWISE)
        + f". Where it is moved, change {variable}. profile.toml takes what lies beside it"
        for variable in profile.files
    ]
    lines += [f"The search had no time for: {omission}" for omission in profile.lacking]
    return [line.replace("\n", " ") for line in lines]


def _distances_line(path: str, distances: Sequence[Apart]) -> str:
    labels = " and ".join(distance.label for distance in distances)
    return f"Measured on {path} with the CPUs {labels} apart"


def _evidence_line(evidence: Evidence) -> str:
    interval = f" [{evidence.ci95[0]:.3g}, {evidence.ci95[1]:.3g}]" if evidence.ci95 else ""
    apart = f" (CPUs apart: {evidence.apart})" if evidence.apart else ""
    return (
        f"{evidence.case}: {evidence.before:.4g} -> {evidence.after:.4g} {evidence.unit},"
        f" {evidence.times:.3g}{interval} times as fast{apart}"
    )
