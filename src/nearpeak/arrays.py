# SPDX-License-Identifier: Apache-2.0
"""Types of numpy's arrays."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
Booleans = NDArray[np.bool_]
