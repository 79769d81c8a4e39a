"""Whether the equilibrium is stable: the rightmost characteristic root of the linearized model.

The delays are frozen at their equilibrium values, as the paper does. The linear delay equation's generator is
replaced by its Chebyshev collocation matrix (Breda, Maset, Vermiglio, "Stability of Linear Delay Differential
Equations", 2015, ch. 5), whose rightmost eigenvalue converges to the characteristic root faster than any power.
"""

import numpy as np
import numpy.typing as npt

from sojourn.worlds.fluid.equilibrium import Equilibrium
from sojourn.worlds.fluid.model import Model

Matrix = npt.NDArray[np.float64]
_NODES = 40


def rightmost_root(model: Model, rest: Equilibrium) -> complex:
    """Return the characteristic root with the largest real part, per second: below zero means stable.

    A class whose window stays where it is, because the queue is beyond its target, takes no part: it would only add a
    root at zero.
    """
    present, delayed = linearized(model, rest)
    moving = np.flatnonzero([*(_moves(model, rest, index) for index in range(len(model.classes))), True, True])
    present = present[np.ix_(moving, moving)]
    delayed = [(delay, matrix[np.ix_(moving, moving)]) for delay, matrix in delayed]
    values = np.linalg.eigvals(_collocation(present, delayed))
    return complex(max(values, key=lambda value: value.real))


def linearized(model: Model, rest: Equilibrium) -> tuple[Matrix, list[tuple[float, Matrix]]]:
    """Return x' = A x + sum of A_k x(t - R_k): A and the pairs (R_k, A_k), one for each class.

    The state is the deviation of one window for each class, the queue and the average queue.
    """
    size = len(model.classes) + 2
    queue, average = size - 2, size - 1
    capacity, q, p = model.packets_per_s, rest.queue_packets, rest.drop_probability
    present = np.zeros((size, size))
    delayed = []
    for index, (one, w) in enumerate(zip(model.classes, rest.windows_packets, strict=True)):
        rtt = model.rtt_s(one, q)
        gained = one.increase(q / capacity)
        past = np.zeros((size, size))
        if _moves(model, rest, index):
            # The term of growth: a(q) / R(q).
            slope = -one.gain / (one.target_s * capacity) if one.control == "ledbat" else 0.0
            present[index, queue] = slope / rtt - gained / (rtt**2 * capacity)
            # The term of loss: - w(t) / D times w(t - R) p(t - R) / R(t - R).
            lost = w * p / (model.decrease * rtt)
            present[index, index] = -lost
            past[index, index] = -lost
            past[index, queue] = w**2 * p / (model.decrease * rtt**2 * capacity)
            past[index, average] = -(w**2) / (model.decrease * rtt) * model.red.slope(q)
        delayed.append((rtt, past))
        present[queue, index] = one.flows / rtt * (1 - p)
        present[queue, queue] -= one.flows * w / (rtt**2 * capacity) * (1 - p)
        present[queue, average] -= one.flows * w / rtt * model.red.slope(q)
    present[average, queue] = model.average_per_s
    present[average, average] = -model.average_per_s
    return present, delayed


def _moves(model: Model, rest: Equilibrium, index: int) -> bool:
    """Return whether a class's window answers to small changes: neither starved nor at its floor."""
    one = model.classes[index]
    floor = model.ledbat_floor_packets if one.control == "ledbat" else 0.0
    return one.increase(rest.queue_packets / model.packets_per_s) > 0 and rest.windows_packets[index] > floor


def _collocation(present: Matrix, delayed: list[tuple[float, Matrix]]) -> Matrix:
    """Return the generator's matrix on Chebyshev nodes of [-longest delay, 0]; the first block row is the equation."""
    longest = max(delay for delay, _ in delayed)
    derivative, nodes = _chebyshev(_NODES)
    times: Matrix = longest / 2 * (nodes - 1)
    size = len(present)
    generator: Matrix = np.asarray(np.kron(2 / longest * derivative, np.eye(size)))
    generator[:size] = 0.0
    generator[:size, :size] = present
    for delay, matrix in delayed:
        for node, weight in enumerate(_lagrange(times, -delay)):
            generator[:size, node * size : (node + 1) * size] += weight * matrix
    return generator


def _chebyshev(count: int) -> tuple[Matrix, Matrix]:
    """Return the differentiation matrix and the nodes, from 1 to -1 (Trefethen 2000, ch. 6)."""
    index = np.arange(count + 1)
    nodes: Matrix = np.cos(np.pi * index / count)
    weights = np.where((index == 0) | (index == count), 2.0, 1.0) * (-1.0) ** index
    difference = nodes[:, None] - nodes[None, :] + np.eye(count + 1)
    matrix = np.outer(weights, 1 / weights) / difference
    return np.asarray(matrix - np.diag(matrix.sum(axis=1))), nodes


def _lagrange(nodes: Matrix, place: float) -> Matrix:
    """Return the weights with which values at the Chebyshev nodes give the value at a place (barycentric formula)."""
    distance = place - nodes
    if np.any(distance == 0):
        return np.asarray(distance == 0, dtype=np.float64)
    count = len(nodes) - 1
    index = np.arange(count + 1)
    terms = np.where((index == 0) | (index == count), 0.5, 1.0) * (-1.0) ** index / distance
    return np.asarray(terms / terms.sum())
