# SPDX-License-Identifier: Apache-2.0
"""Likeness of neighbouring sessions of rows, because of which levels seem to differ.

A row is white noise plus a state of which each session keeps a share: a first-order autoregression
with noise. A grid of such models is fitted to each row, by restricted likelihood (Harville, Journal
of the American Statistical Association 72 (1977) 320) with the best step in it, so that a step does
not pass for likeness. How common each model is among the rows is estimated from all of them (Kiefer
and Wolfowitz, Annals of Mathematical Statistics 27 (1956) 887), and a row counts with the mean over
the models, weighted by how likely each is for it. So a row of its own kind counts by itself, and
chance in a few rows does not.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from nearpeak.arrays import Floats, Indices
from nearpeak.grouping import grouped

STEP_SESSIONS = 3  # on both sides of the step that is in the models
MOST = 200  # sessions, the newest ones, to which models are fitted
_KEPT = (0.3, 0.6, 0.8, 0.9, 0.95)  # shares of the state that the next session keeps
_STATE = (0.25, 0.5, 0.75, 1.0)  # shares of the state in the variance of a session
_REGRESSORS = 3  # level, trend and step
_ROUNDING = 1e-12  # of the squares of a row
_ROUNDS = 50  # of expectation and maximisation
MODELS = [(0.0, 0.0), *((state, kept) for state in _STATE for kept in _KEPT)]


class _Fit(NamedTuple):
    """A model, for rows of one length."""

    whitening: Floats  # sessions x sessions
    lines: Floats  # the whitened level and trend, orthogonal and of length 1: sessions x 2
    steps: Floats  # whitened steps, orthogonal to them and of length 1: sessions x splits
    volumes: Floats  # of each split: the logarithm of the determinants of the likelihood


class Likeness(NamedTuple):
    """The probability of each model, for each row: rows x `MODELS`."""

    weights: Floats
    sessions: int

    def inflation(self, before: Indices, after: Indices) -> Floats:
        """The variance of the difference of two neighbouring levels, over what it is if sessions
        are independent: rows x levels. `before`, `after`: the sessions of each level."""
        of_models = [
            _inflation(state, kept, self.sessions, before, after) for state, kept in MODELS
        ]
        return np.maximum(self.weights @ np.array(of_models), 1.0)

    def largest(self) -> float:
        """The correlation of neighbours, in the row where it is largest; 0 without a row."""
        of_models = np.array([state * kept for state, kept in MODELS])
        return float(np.max(self.weights @ of_models, initial=0.0))


def estimate(rows: Sequence[Floats], sessions: int) -> Likeness:
    """Fits the models to rows of measured values, whose large steps are taken out."""
    if not rows:
        return Likeness(np.zeros((0, len(MODELS))), sessions)
    log_likelihoods = np.zeros((len(rows), len(MODELS)))
    newest = [row[-MOST:] for row in rows]
    for count, alike in grouped(range(len(rows)), lambda index: len(newest[index])).items():
        if count > 2 * STEP_SESSIONS + _REGRESSORS:
            together = np.array([newest[index] for index in alike])
            log_likelihoods[alike] = _log_likelihoods(together)
    likelihoods = np.exp(log_likelihoods - log_likelihoods.max(axis=1, keepdims=True))
    common, weights = np.full(len(MODELS), 1 / len(MODELS)), likelihoods
    for _ in range(_ROUNDS):
        weights = likelihoods * common
        weights /= weights.sum(axis=1, keepdims=True)
        common = weights.mean(axis=0)
    return Likeness(weights, sessions)


def _log_likelihoods(rows: Floats) -> Floats:
    """The restricted log-likelihood of each model with the best step, for rows of equal length:
    rows x models."""
    count = rows.shape[1]
    squares = (rows**2).sum(axis=1)
    scaled = (rows / np.sqrt(np.where(squares, squares, 1))[:, None]).T
    of_models = []
    for fit in _fits(count):
        whitened = fit.whitening @ scaled
        whitened -= fit.lines @ (fit.lines.T @ whitened)
        left = (whitened**2).sum(axis=0) - (fit.steps.T @ whitened) ** 2
        left = np.maximum(left, _ROUNDING)
        freedom = count - _REGRESSORS
        of_models.append(np.max(-0.5 * freedom * np.log(left) - fit.volumes[:, None], axis=0))
    # A constant row has no likeness.
    return np.where(squares[:, None] > 0, np.array(of_models).T, 0.0)


@lru_cache(maxsize=8)
def _fits(count: int) -> list[_Fit]:
    return [_fit(state, kept, count) for state, kept in MODELS]


def _fit(state: float, kept: float, count: int) -> _Fit:
    apart = np.abs(np.subtract.outer(np.arange(count), np.arange(count)))
    correlations = state * kept**apart + (1 - state) * (apart == 0)
    root = np.linalg.cholesky(correlations)
    whitening = np.linalg.inv(root)
    # Column s: the whitened indicator of the sessions from s on.
    indicators = np.cumsum(whitening[:, ::-1], axis=1)[:, ::-1]
    trend = whitening @ np.linspace(-1, 1, count)
    lines, triangle = np.linalg.qr(np.stack([indicators[:, 0], trend], axis=1))
    steps = indicators[:, STEP_SESSIONS : count - STEP_SESSIONS + 1]
    steps = steps - lines @ (lines.T @ steps)
    sizes = np.linalg.norm(steps, axis=0)
    determinants = np.concatenate([np.diag(root), np.abs(np.diag(triangle))])
    volumes = np.log(determinants).sum() + np.log(sizes)
    return _Fit(whitening, lines, steps / sizes, volumes)


def _inflation(state: float, kept: float, sessions: int, before: Indices, after: Indices) -> Floats:
    """The same for one model, relative to the variance that sessions have about their mean."""
    sums = _variances_of_sums(state, kept, sessions)
    shared = sums[before + after] - sums[before] - sums[after]
    difference = sums[before] / before**2 + sums[after] / after**2 - shared / (before * after)
    within = (sessions - sums[sessions] / sessions) / max(sessions - 1, 1)
    return np.asarray(difference / (1 / before + 1 / after) / within)


def _variances_of_sums(state: float, kept: float, sessions: int) -> Floats:
    """The variance of a sum of 0, 1, ... sessions, each of variance 1."""
    lags = state * kept ** np.arange(1, sessions + 1)
    return np.concatenate([[0.0], np.cumsum(1 + 2 * np.concatenate([[0.0], np.cumsum(lags)[:-1]]))])
