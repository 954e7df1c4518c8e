# SPDX-License-Identifier: Apache-2.0
"""A comparison of studies for people and scripts: terminal, page, JUnit XML."""
