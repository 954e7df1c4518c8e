# SPDX-License-Identifier: Apache-2.0
"""The files of a study's folder that are written before it runs."""

PLAN = "plan.json"  # what makes a folder a study's
MACHINE = "machine.json"
