# SPDX-License-Identifier: Apache-2.0
"""The files of a study's folder that are written before it runs."""

PLAN = "plan.json"  # marks the folder of a study
MACHINE = "machine.json"
