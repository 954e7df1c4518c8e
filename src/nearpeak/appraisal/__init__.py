# SPDX-License-Identifier: Apache-2.0
"""Appraisals of imported figures: what such hardware sustains, the share of it, and why."""
