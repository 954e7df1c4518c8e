# SPDX-License-Identifier: Apache-2.0
"""Shows a tuning on the terminal and as an HTML report."""
