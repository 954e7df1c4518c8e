# SPDX-License-Identifier: Apache-2.0
"""The errors of decoding what others wrote."""

import msgspec

# Not JSON or of another form; not UTF-8, or a value that cannot be; nested too deeply.
UNDECODABLE = (msgspec.MsgspecError, ValueError, RecursionError)
