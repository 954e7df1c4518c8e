# SPDX-License-Identifier: Apache-2.0
"""Copies of studies that may be shared, with stand-ins for names of hosts, people and places."""
