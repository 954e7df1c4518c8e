# SPDX-License-Identifier: Apache-2.0
"""What a library does for one message (docs/explain.md)."""
