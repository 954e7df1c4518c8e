# SPDX-License-Identifier: Apache-2.0
"""Terms that all other packages share: libraries, paths, metrics, outcomes."""
