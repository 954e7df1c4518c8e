# SPDX-License-Identifier: Apache-2.0
"""A traced application, on the terminal and as a page."""
