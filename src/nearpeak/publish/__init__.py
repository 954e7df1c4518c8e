# SPDX-License-Identifier: Apache-2.0
"""Copies of studies that may be shared: names of hosts, people and places in them are others."""
