# SPDX-License-Identifier: Apache-2.0
"""Studies beside earlier ones: what became slower, in libraries and in what paths carry."""
