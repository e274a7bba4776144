#!/usr/bin/env python3
"""Times this engine and mbi 2.0.0 in alternating blocks (A B A B), and prints ratios with their spread.

    python3 benches/peers/compare.py [--parts oracle,fit,count,sample] [--blocks N] [--out FILE.json]

What is compared, and what it needs, is in the README beside this file.
"""

import argparse
import csv
import gzip
import importlib.util
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
PEER = "mbi==2.0.0"

# Records: the folder and file of each family of cases.
TABLES = {"adult15": "jam-adult/priv.csv.gz", "adult14": "adult-pgm/data.csv.gz"}
# Name of each case in the reference file, and steps of a block, chosen so that a block takes about a second.
CASES = {
    "chain": ("i_chain", 2000),
    "tree": ("ii_tree", 2000),
    "10MiB": ("iii_10MB", 20),
    "80MiB": ("iii_80MB", 5),
}
# mbi's methods for the same minimum.
METHODS = ["LBFGS", "DualAveraging", "UniversalAcceleratedMethod", "MirrorDescent"]
COUNTED = 10_000_000
SAMPLED = 1_000_000
FIT_STEPS = 1000


def main():
    arguments = parse()
    with_mbi()
    import numpy  # comes with mbi

    executable = build()
    bench = Bench(arguments, executable, numpy)
    started = time.time()
    for part in arguments.parts:
        getattr(bench, part)()
    report = {"machine": machine(), "commit": commit(), "minutes": (time.time() - started) / 60}
    report |= {"blocks": arguments.blocks, "results": bench.results}
    if arguments.out:
        Path(arguments.out).write_text(json.dumps(report, indent=1) + "\n")
    print(f"\n{report['machine']}; commit {report['commit']}; {report['minutes']:.1f} minutes")


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    words = lambda text: text.split(",")
    parser.add_argument("--parts", type=words, default=["oracle", "fit", "count", "sample"])
    parser.add_argument("--family", choices=TABLES, default="adult15")
    parser.add_argument("--cases", type=words, default=list(CASES))
    parser.add_argument("--cores", type=words, default=["1", "2"])
    parser.add_argument("--precisions", type=words, default=["float32", "float64"])
    parser.add_argument("--blocks", type=int, default=5, help="turns of each engine")
    parser.add_argument("--fit-cases", type=words, default=["tree", "10MiB"])
    parser.add_argument("--out", help="where to write all figures as JSON")
    return parser.parse_args()


def with_mbi():
    """Continues in an interpreter that has mbi: this one, or that of a virtual environment, created if necessary."""
    if importlib.util.find_spec("mbi"):
        return
    python = TARGET / "peers-venv" / "bin" / "python"
    if Path(sys.executable).resolve() == python.resolve() and sys.prefix != sys.base_prefix:
        sys.exit("error: mbi is not to be had in the environment just made")
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", TARGET / "peers-venv"], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", PEER], check=True)
    os.execv(python, [python, *sys.argv])


def build():
    """Builds this engine's worker and returns its path."""
    command = ["cargo", "bench", "--bench", "peer_worker", "--no-run", "--message-format=json"]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    messages = [json.loads(line) for line in done.stdout.splitlines()]
    found = [m["executable"] for m in messages if m.get("target", {}).get("name") == "peer_worker"]
    return found[-1]


class Process:
    """A worker of either engine on some cores."""

    def __init__(self, command, cores, precision="float32"):
        environment = dict(os.environ, RAYON_NUM_THREADS=cores)
        environment["JAX_ENABLE_X64"] = str(precision == "float64")
        environment["JAX_PLATFORMS"] = "cpu"
        # Nothing is cached between runs: users compile for each new set of cliques.
        environment["JAX_ENABLE_COMPILATION_CACHE"] = "false"
        environment["PYTHONWARNINGS"] = "ignore"
        if cores == "1":
            environment["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false"
        allowed = sorted(os.sched_getaffinity(0))[: int(cores)]
        self.started = time.perf_counter()
        self.child = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
            preexec_fn=lambda: os.sched_setaffinity(0, allowed),
        )

    def ask(self, do, **members):
        print(json.dumps({"do": do} | members), file=self.child.stdin, flush=True)
        line = self.child.stdout.readline()
        if not line:
            sys.exit(f"error: a worker failed at '{do}'")
        return json.loads(line)

    def end(self):
        """Wall and CPU seconds since the start of the process, and its peak memory."""
        self.child.stdin.close()
        self.child.stdout.read()
        _, status, used = os.wait4(self.child.pid, 0)
        self.child.returncode = os.waitstatus_to_exitcode(status)
        return {
            "seconds": time.perf_counter() - self.started,
            "cpu_seconds": used.ru_utime + used.ru_stime,
            "peak_mib": used.ru_maxrss / 1024,
        }


class Bench:
    """The parts; results are stored by part and printed as they arrive."""

    def __init__(self, arguments, executable, numpy):
        self.arguments, self.numpy, self.results = arguments, numpy, {}
        self.commands = {
            "mbi": [sys.executable, str(HERE / "mbi_worker.py")],
            "jointly": [executable, "serve"],
        }
        self.folder = Path(tempfile.mkdtemp(prefix="jointly-peers-"))
        self.columns = self.read_table()

    def read_table(self):
        data = Path(os.environ.get("JOINTLY_DATA", ROOT / "../shared/data"))
        with gzip.open(data / TABLES[self.arguments.family], "rt") as file:
            rows = list(csv.reader(file))
        codes = self.numpy.array(rows[1:], dtype=self.numpy.uint8).T
        return dict(zip(rows[0], codes))

    def instance(self, case):
        """Writes a case's noisy marginals, row-major in the domain's order, and returns the path."""
        np = self.numpy
        reference = Path(os.environ.get("JOINTLY_REFERENCE", ROOT / "../shared/reference"))
        with open(reference / "engine-cases.json") as file:
            family = json.load(file)[self.arguments.family]
        domain = family["domain"]
        case = family["cases"][CASES[case][0]]
        generator = np.random.default_rng(0)
        measurements = []
        for clique in case["cliques"]:
            shape = [domain[a] for a in clique]
            cells = np.ravel_multi_index([self.columns[a] for a in clique], shape)
            counts = np.bincount(cells, minlength=int(np.prod(shape))).astype(float)
            noisy = counts + generator.normal(0, case["noise_sigma"], counts.size)
            # The noise is drawn in the order of the listed clique; both engines share the domain's order.
            order = sorted(range(len(clique)), key=lambda i: list(domain).index(clique[i]))
            values = noisy.reshape(shape).transpose(order).ravel()
            measurements.append(
                {
                    "clique": [clique[i] for i in order],
                    "stddev": case["noise_sigma"],
                    "values": values.tolist(),
                }
            )
        path = self.folder / "instance.json"
        total = len(next(iter(self.columns.values())))
        content = {"domain": list(domain.items()), "total": total, "measurements": measurements}
        path.write_text(json.dumps(content))
        return str(path)

    def keep(self, part, title, columns, row):
        if part not in self.results:
            self.results[part] = []
            print(f"\n{title}\n\n| {' | '.join(columns)} |\n|{'---|' * len(columns)}", flush=True)
        self.results[part].append(row)

    def oracle(self):
        columns = ["case", "mbi in", "cores", "mbi ms a step", "jointly ms a step", "ratio"]
        columns += ["jointly ms a call", "ratio a call", "jointly ns a cell and core"]
        for case in self.arguments.cases:
            path, count = self.instance(case), CASES[case][1]
            for precision in self.arguments.precisions:
                for cores in self.arguments.cores:
                    mbi = Process(self.commands["mbi"], cores, precision)
                    ours = Process(self.commands["jointly"], cores)
                    compiled = mbi.ask("load", path=path, block=count, warm=True)
                    ours.ask("load", path=path)
                    turns = []
                    for _ in range(self.arguments.blocks):
                        theirs = mbi.ask("steps", count=count)["seconds"] / count
                        # Ours is faster: more steps, so that a block has some length.
                        steps = ours.ask("steps", count=4 * count)
                        calls = ours.ask("calls", count=4 * count)
                        step = steps["seconds"] / steps["oracle_calls"]
                        turns.append((theirs, step, calls["seconds"] / (4 * count)))
                    cells = calls["model_cells"]
                    row = {"case": case, "precision": precision, "cores": cores, "turns": turns}
                    row |= {"compilation": compiled, "model_cells": cells}
                    row |= {"mbi": mbi.end(), "jointly": ours.end()}
                    self.keep("oracle", "Warm steps and oracle calls", columns, row)
                    theirs, steps, calls = ([1e3 * turn[i] for turn in turns] for i in range(3))
                    line = [case, precision, cores, spread(theirs), spread(steps)]
                    line += [spread([t / s for t, s in zip(theirs, steps)])]
                    line += [spread(calls), spread([t / 2 / c for t, c in zip(theirs, calls)])]
                    line += [short(1e6 * statistics.median(calls) * int(cores) / cells)]
                    print_row(line)

    def fit(self):
        columns = ["case", "engine", "objective", "wall s", "ratio", "CPU s", "ratio", "peak MiB"]
        cores = self.arguments.cores[-1]
        for case in self.arguments.fit_cases:
            path, runs = self.instance(case), {"mbi": [], "jointly": []}
            for _ in range(self.arguments.blocks):
                objective = None
                for engine in ("mbi", "jointly"):
                    process = Process(self.commands[engine], cores)
                    process.ask("load", path=path)
                    fitted = process.ask("fit", steps=FIT_STEPS, objective=objective)
                    objective = objective or fitted["objective"]
                    runs[engine].append(fitted | {"process": process.end()})
            title = f"From process start to mbi's objective after {FIT_STEPS} steps, {cores} cores"
            self.keep("fit", title, columns, {"case": case, "runs": runs})
            used = {
                (engine, what): [run["process"][what] for run in runs[engine]]
                for engine in runs
                for what in ("seconds", "cpu_seconds", "peak_mib")
            }
            for engine in runs:
                line = [case, engine, spread([run["objective"] for run in runs[engine]])]
                for what in ("seconds", "cpu_seconds"):
                    ours, theirs = used["jointly", what], used["mbi", what]
                    ratios = spread([t / o for t, o in zip(theirs, ours)])
                    line += [spread(used[engine, what]), ratios if engine == "jointly" else ""]
                print_row(line + [short(max(used[engine, "peak_mib"]))])

    def convergence(self):
        """The objective after some steps, by every method of mbi and by this engine (calls)."""
        columns = ["noise", "steps", *METHODS, "jointly"]
        title = "Objective on the reference's convergence cases; steps of mbi, oracle calls of this engine"
        reference = Path(os.environ.get("JOINTLY_REFERENCE", ROOT / "../shared/reference"))
        for noise in ("10", "100"):
            with gzip.open(reference / f"adult-convergence-sigma{noise}.json.gz", "rt") as file:
                content = json.load(file)
            content["domain"] = list(content["domain"].items())
            content["measurements"] = [m | {"stddev": content["sigma"]} for m in content["measurements"]]
            path = self.folder / "instance.json"
            path.write_text(json.dumps(content))
            mbi = Process(self.commands["mbi"], "2", "float64")
            ours = Process(self.commands["jointly"], "2")
            for process in (mbi, ours):
                process.ask("load", path=str(path))
            for steps in (500, 1000, 2000):
                row = {"noise": noise, "steps": steps}
                row |= {m: mbi.ask("fit", method=m, steps=steps)["objective"] for m in METHODS}
                row["jointly"] = ours.ask("steps", count=steps)["objective"]
                self.keep("convergence", title, columns, row)
                print_row([noise, str(steps)] + [f"{row[m]:,.1f}" for m in [*METHODS, "jointly"]])
            mbi.end(), ours.end()

    def count(self):
        np = self.numpy
        generator = np.random.default_rng(0)
        path = self.folder / "records"
        rows = generator.integers(len(next(iter(self.columns.values()))), size=COUNTED)
        with open(path, "wb") as file:
            for codes in self.columns.values():
                file.write(codes[rows].tobytes())
        sizes = [int(codes.max()) + 1 for codes in self.columns.values()]
        pairs = len(sizes) * (len(sizes) - 1) // 2
        title = f"Counting {pairs} pairs of {COUNTED:,} records"
        # A block takes seconds, so a few suffice.
        self.timed("count", title, "table", [("adult", None)], path=str(path), cardinalities=sizes)
        path.unlink()

    def sample(self):
        work = [(case, method) for case in ("tree", "10MiB") for method in ("round", "sample")]
        self.timed("sample", f"Drawing {SAMPLED:,} records from a fitted model", "model", work)

    def timed(self, part, title, what, work, **request):
        """Seconds of one request to both engines; `work` is pairs of a case and a method."""
        columns = [what, "cores", "mbi s", "mbi CPU s", "jointly s", "jointly CPU s"]
        columns += ["ratio of wall", "ratio of CPU"]
        for case, method in work:
            for cores in self.arguments.cores:
                processes = [Process(self.commands[e], cores) for e in ("mbi", "jointly")]
                if method:
                    request = {"rows": SAMPLED, "method": method}
                    for process in processes:
                        process.ask("load", path=self.instance(case))
                        process.ask("fit", steps=50)
                do = "sample" if method else "pairs"
                turns = [[p.ask(do, **request) for p in processes] for _ in range(2)]
                used = [process.end() for process in processes]
                row = {"case": case, "method": method, "cores": cores, "turns": turns}
                self.keep(part, title, columns, row | {"mbi": used[0], "jointly": used[1]})
                line = [f"{case}, {method}" if method else case, cores]
                by_engine = [
                    [[turn[engine][key] for turn in turns] for key in ("seconds", "cpu_seconds")]
                    for engine in (0, 1)
                ]
                line += [spread(values) for engine in by_engine for values in engine]
                for theirs, ours in zip(*by_engine):
                    line.append(spread([t / o for t, o in zip(theirs, ours)]))
                print_row(line)


def spread(values):
    """Median (minimum to maximum)."""
    low, high = short(min(values)), short(max(values))
    return f"{short(statistics.median(values))} ({low} to {high})"


def short(value):
    """Three significant digits, or all before the point."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def print_row(cells):
    print(f"| {' | '.join(cells)} |", flush=True)


def machine():
    model = "unknown processor"
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            model = line.split(":")[1].strip()
            break
    return f"{model}, {len(os.sched_getaffinity(0))} cores, {platform.system()}"


def commit():
    command = ["git", "describe", "--always", "--dirty"]
    return subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True).stdout.strip()


if __name__ == "__main__":
    main()
