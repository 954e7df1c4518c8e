# SPDX-License-Identifier: Apache-2.0
"""Writing a file whole or not at all."""

import os
from pathlib import Path

from nearpeak.errors import UserError


def write_whole(target: Path, text: str) -> None:
    """Writes `text` as UTF-8 to `target`, which is never seen half-written.

    A temporary file beside it is renamed over it. Raises UserError when that cannot be done.
    """
    temporary = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        try:
            temporary.write_text(text, encoding="utf-8", newline="\n")
            temporary.replace(target)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise UserError(
            f"cannot write {target}: {error.strerror}; choose a folder that can be written to"
        ) from error
