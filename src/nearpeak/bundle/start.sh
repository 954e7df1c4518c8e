#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs the Nearpeak of this folder; all that it needs lies here, and its cache too.
here=$(dirname "$(readlink -f "$0")")
needs=@PYTHON@
[ "$(uname -m)" = "@MACHINE@" ] || {
  echo "nearpeak: this bundle is for @MACHINE@, not $(uname -m)" >&2
  exit 2
}
choose() {
  for python; do
    has=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null)
    [ "$has" = "$needs" ] && return
  done
}
if [ -n "$NEARPEAK_PYTHON" ]; then choose "$NEARPEAK_PYTHON"; else choose python3 "python$needs"; fi
[ "$has" = "$needs" ] || {
  echo "nearpeak: this bundle needs Python $needs: set NEARPEAK_PYTHON to one${NEARPEAK_PYTHON:+, which $NEARPEAK_PYTHON is not}" >&2
  exit 2
}
export NEARPEAK_CACHE="${NEARPEAK_CACHE:-$here/cache}" NEARPEAK_BENCH="$here/bench"
export PYTHONPATH="$here/src:$here/python"
exec "$python" "$here/src" "$@"
