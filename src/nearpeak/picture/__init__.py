# SPDX-License-Identifier: Apache-2.0
"""The machine as a drawing: what it is made of, its links, and what each of them carries."""
