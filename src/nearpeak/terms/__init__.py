# SPDX-License-Identifier: Apache-2.0
"""The words that everything else is told in: who, where, what, and how it ended."""
