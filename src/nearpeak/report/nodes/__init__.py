# SPDX-License-Identifier: Apache-2.0
"""All pairs of nodes for people: on the terminal and as a page."""
