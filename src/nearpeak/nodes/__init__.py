# SPDX-License-Identifier: Apache-2.0
"""All pairs of the nodes of a cluster, in rounds: slow nodes and slow links."""
