"""mbi's side of compare.py: answers the requests that worker.rs answers, in lines of JSON.

Needs mbi 2.0.0 (which brings JAX). Whether JAX computes in 32 or 64 bits is set by compare.py, in JAX_ENABLE_X64.
"""

import json
import sys
import time

import jax
import jax.numpy as jnp
import mbi
import numpy as np
from mbi import estimation, marginal_loss


class Worker:
    """Keeps the loss, the state of the descent and the model between requests."""

    def load(self, request):
        with open(request["path"]) as file:
            instance = json.load(file)
        self.domain = mbi.Domain(*zip(*instance["domain"]))
        self.total = instance["total"]
        self.measured = [
            (tuple(m["clique"]), np.array(m["values"]), m["stddev"])
            for m in instance["measurements"]
        ]
        self.estimator = estimation.MirrorDescent()
        # Steps that are one compiled loop; mbi's own number is 50.
        estimation.CALLBACK_EVERY = request.get("block", estimation.CALLBACK_EVERY)
        return timed(self.compile if request.get("warm") else self.make_loss)

    def make_loss(self):
        measurements = [
            marginal_loss.LinearMeasurement(jnp.asarray(y), clique, stddev)
            for clique, y, stddev in self.measured
        ]
        self.loss = marginal_loss.from_linear_measurements(measurements, self.domain)

    def compile(self):
        self.make_loss()
        state = self.estimator._init(self.domain, self.loss, self.total)
        self.state = jax.tree.map(jnp.copy, state)
        self.advance()

    def advance(self):
        self.state = self.estimator._multi_step(self.state, self.loss, self.total, ())
        jax.block_until_ready(self.state)

    def steps(self, request):
        blocks = request["count"] // estimation.CALLBACK_EVERY
        return timed(lambda: [self.advance() for _ in range(blocks)])

    def fit(self, request):
        method = request.get("method")
        estimator = getattr(estimation, method)() if method else self.estimator

        def fit():
            self.model = estimator.estimate(
                self.domain, self.loss, self.total, iters=request["steps"]
            )
            jax.block_until_ready(self.model.potentials)

        answer = timed(fit)
        objective = 0.0
        for clique, y, stddev in self.measured:
            table = np.asarray(self.model.project(clique).datavector(), dtype=np.float64)
            objective += 0.5 * np.sum(((table - y) / stddev) ** 2)
        return answer | {"objective": float(objective)}

    def pairs(self, request):
        sizes = request["cardinalities"]
        codes = np.fromfile(request["path"], dtype=np.uint8).reshape(len(sizes), -1)
        names = [f"x{i}" for i in range(len(sizes))]
        data = mbi.Dataset(dict(zip(names, codes)), mbi.Domain(names, sizes))
        pairs = [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]
        return timed(lambda: [data.project(pair) for pair in pairs])

    def sample(self, request):
        np.random.seed(1)
        return timed(lambda: self.model.synthetic_data(request["rows"], request["method"]))


def timed(work):
    cpu, start = time.process_time(), time.perf_counter()
    work()
    return {"seconds": time.perf_counter() - start, "cpu_seconds": time.process_time() - cpu}


def main():
    worker = Worker()
    for line in sys.stdin:
        request = json.loads(line)
        answer = getattr(worker, request["do"])(request)
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
