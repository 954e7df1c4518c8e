# SPDX-License-Identifier: Apache-2.0
"""Shows an explanation: on the terminal, and as a page with lanes."""
