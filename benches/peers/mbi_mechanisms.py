"""mbi's own AIM and MST with mbi's estimator or with Jointly's: error of the records, and seconds of the processor.

The mechanisms are scripts in mbi's repository (`mechanisms/`), not part of its package. They are run as they are, except for
two names that mbi 2.0 no longer has: `Domain.attrs`, and `potentials=`, which `warm_start=` replaced. See README.md.
"""

from __future__ import annotations

import argparse
import gzip
import itertools
import json
import statistics
import subprocess
import sys
import time


def one_run(options: argparse.Namespace) -> None:
    """One mechanism, one estimator, one seed; prints a line of JSON."""
    import jax

    if options.bits == 64:
        jax.config.update("jax_enable_x64", True)
    import mbi
    import numpy as np
    import pandas as pd

    sys.path.insert(0, options.mechanisms)
    mbi.Domain.attrs = property(lambda domain: domain.attributes)
    spent = []

    def estimator() -> object:
        if options.estimator == "jointly":
            from jointly_dp.mbi import Estimator

            inner = Estimator()
        else:
            inner = mbi.estimation.MirrorDescent()

        class Timed:
            def estimate(self, domain, measurements, potentials=None, **further):
                begun = time.process_time()
                model = inner.estimate(domain, measurements, warm_start=potentials, **further)
                jax.block_until_ready(model.marginals.tables)
                spent.append(time.process_time() - begun)
                return model

        return Timed()

    class Estimation:
        MirrorDescent = staticmethod(estimator)

    with open(options.domain) as file:
        domain = mbi.Domain.fromdict(json.load(file))
    with gzip.open(options.data) as file:
        rows = pd.read_csv(file, usecols=list(domain.attributes))
    data = mbi.Dataset({name: rows[name].to_numpy() for name in domain.attributes}, domain)
    np.random.seed(options.seed)
    begun, begun_cpu = time.perf_counter(), time.process_time()
    if options.mechanism == "mst":
        import mst

        mst.estimation = Estimation
        records = mst.MST(data, options.epsilon, options.delta)
    else:
        import aim

        aim.estimation = Estimation
        pairs = [(clique, 1.0) for clique in itertools.combinations(domain.attributes, 2)]
        workload = [(clique, weight) for clique, weight in pairs if domain.size(clique) <= 10_000]
        mechanism = aim.AIM(options.epsilon, options.delta, rounds=options.rounds, max_model_size=options.size)
        _, records = mechanism.run(data, workload)
    seconds, cpu_seconds = time.perf_counter() - begun, time.process_time() - begun_cpu
    errors = []
    for clique in itertools.combinations(domain.attributes, 2):
        real, made = (np.asarray(table.project(clique).datavector(), float) for table in (data, records))
        errors.append(0.5 * np.abs(real / real.sum() - made / made.sum()).sum())
    found = {
        "mechanism": options.mechanism, "estimator": options.estimator, "seed": options.seed,
        "error": float(np.mean(errors)), "seconds": seconds, "cpu_seconds": cpu_seconds, "fits": len(spent),
        "fit_cpu_seconds": sum(spent),
    }  # fmt: skip
    print(json.dumps(found))


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("--mechanisms", required=True, help="the folder mechanisms/ of a clone of ryan112358/mbi")
    words.add_argument("--data", required=True, help="a gzip CSV of codes")
    words.add_argument("--domain", required=True, help="its domain.json")
    words.add_argument("--mechanism", choices=["mst", "aim"], required=True)
    words.add_argument("--estimator", choices=["mbi", "jointly"])
    words.add_argument("--seed", type=int)
    words.add_argument("--seeds", type=int, default=3)
    words.add_argument("--epsilon", type=float, default=1.0)
    words.add_argument("--delta", type=float, default=1e-9)
    words.add_argument("--rounds", type=int, help="of AIM; by default its own choice, 16 for each attribute")
    words.add_argument("--size", type=float, default=80.0, help="MiB of AIM's model")
    words.add_argument("--bits", type=int, choices=[32, 64], default=32, help="of mbi's numbers")
    options = words.parse_args()
    if options.estimator is not None and options.seed is not None:
        one_run(options)
        return
    found = []
    for seed in range(options.seeds):
        for estimator in ("mbi", "jointly") if seed % 2 == 0 else ("jointly", "mbi"):
            command = [sys.executable, *sys.argv, "--estimator", estimator, "--seed", str(seed)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode != 0:
                sys.exit(done.stderr)
            line = done.stdout.splitlines()[-1]
            print(line, flush=True)
            found.append(json.loads(line))
    for estimator in ("mbi", "jointly"):
        own = [one for one in found if one["estimator"] == estimator]
        shown = []
        for member in ("error", "seconds", "cpu_seconds", "fit_cpu_seconds", "fits"):
            values = [one[member] for one in own]
            shown.append(f"{member} {statistics.median(values):.4g} ({min(values):.4g} to {max(values):.4g})")
        print(f"{options.mechanism} with {estimator}: {', '.join(shown)}")


if __name__ == "__main__":
    main()
