"""The update rules, of an element or an array: w after an update by the mean gradient g, `state` its slots.

`s` has the settings, t is the number of the update from 1; kernel is 1 where w is of a kernel, else 0.
optimizer_reference.py holds them against PyTorch's figures.
"""

from numpy import sqrt


def sgd(s, state, w, g, rate, t, kernel):
    return w - rate * g


def momentum(s, state, w, g, rate, t, kernel, nesterov=False):
    state["a"] = s["momentum"] * state.get("a", 0.0) - rate * g
    return w + (s["momentum"] * state["a"] - rate * g if nesterov else state["a"])


def nesterov(s, state, w, g, rate, t, kernel):
    return momentum(s, state, w, g, rate, t, kernel, True)


def adagrad(s, state, w, g, rate, t, kernel):
    state["a"] = state.get("a", s.get("initial_accumulator", 0.0)) + g * g
    return w - rate * g / (sqrt(state["a"]) + s["epsilon"])


def rmsprop(s, state, w, g, rate, t, kernel):
    state["v"] = s["rho"] * state.get("v", 0.0) + (1 - s["rho"]) * g * g
    if s.get("momentum", 0.0) == 0:
        return w - rate * g / (sqrt(state["v"]) + s["epsilon"])
    state["m"] = s["momentum"] * state.get("m", 0.0) + rate * g / sqrt(state["v"] + s["epsilon"])
    return w - state["m"]


def adam(s, state, w, g, rate, t, kernel):
    state["m"] = s["beta1"] * state.get("m", 0.0) + (1 - s["beta1"]) * g
    state["v"] = s["beta2"] * state.get("v", 0.0) + (1 - s["beta2"]) * g * g
    alpha = rate * sqrt(1 - s["beta2"] ** t) / (1 - s["beta1"] ** t)
    return w - alpha * state["m"] / (sqrt(state["v"]) + s["epsilon"])


def adamw(s, state, w, g, rate, t, kernel):
    decayed = w - rate * s["weight_decay"] * w * kernel
    return adam(s, state, w, g, rate, t, kernel) + (decayed - w)


RULES = {f.__name__: f for f in (sgd, momentum, nesterov, adagrad, rmsprop, adam, adamw)}
