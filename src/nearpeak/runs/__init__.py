# SPDX-License-Identifier: Apache-2.0
"""Runs from their options to their exit status: one life cycle for all kinds of them."""
