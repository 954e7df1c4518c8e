# SPDX-License-Identifier: Apache-2.0
"""A conformance run for people: on the terminal and as a page."""
