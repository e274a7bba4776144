#!/usr/bin/env python3
"""Runs anchor-pgm with other values of its constants, one at a time, and prints what each is worth.

    python3 benches/ablations.py [--only NAME,...] [--seed N,...] [--out FOLDER] [--jobs N] [--table]

The constants stand in the source and are no settings. So this makes a copy of the project in which each is read from an
environment variable, builds it once, and runs protocols/ablations.toml with each of the values below. Runs that are done
are kept in --out, and --table prints what is there. After a change of the mechanism, give another folder.
"""

import argparse
import csv
import math
import os
import re
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = Path("src/mechanism/anchor_pgm")
# Files with constants, and where these are used.
CONSTANTS = {
    FOLDER / "constants.rs": FOLDER,
    Path("src/mechanism/contradiction.rs"): Path("src/mechanism/contradiction.rs"),
    Path("src/mechanism/adaptive.rs"): Path("src/mechanism/adaptive.rs"),
}
CONSTANT = re.compile(r"^(pub\(super\) )?const (\w+): (f64|u32|u64|usize|\([\w, ]+\)) = (.+);$", re.M)
# Other values of each constant. Left out: those of units as a whole, of `chooser = "alone"`, of reports, and those that
# bound memory alone. A part of a pair is named by its place.
VALUES = {
    "LARGEST_UNIT": ["0.025", "0.1"],
    "MOST_BEATEN": ["2e5", "2e10"],
    "MEASURE_SHARE": ["0.8", "0.95"],
    "ROUNDS_PER_ATTRIBUTE": ["2", "8"],
    "ROUNDS_LEFT": ["6", "24"],
    "SINGLES": ["25", "75"],
    "LAST_CHOICE": ["1", "4"],
    "FAILS_ONE_IN": ["5", "80"],
    "FEW_BEATEN": ["1e3", "4e3"],
    "BASE_SHARE": ["0.125", "0.5"],
    "GROWTH_MIB": ["0.2", "0.8"],
    "SMALL_GROWTH_0": ["0.4"],
    "SMALL_GROWTH_1": ["0.005", "0.08"],
    "LEAST_SCORE": ["0", "0.004"],
    "SINGLE_ERROR": ["1", "3"],
    "SCORED_AGAIN": ["128", "100000"],
    "BASE_PULL": ["250", "4000"],
    "UNSEEN": ["0.125", "2"],
    "BASE_CALLS_0": ["10", "40"],
    "BASE_CALLS_1": ["50", "200"],
    "EXACT": ["0.05", "0.2"],
    "EXACT_CALLS": ["20", "200"],
    "OF_LARGEST": ["0.5", "1"],
    "FINER_BY": ["2", "16"],
    "LEAST_KAPPA": ["1e-3"],
    "SEEN_FOR_MOST": ["1", "40"],
    "EM_STEPS": ["25"],
    "LEAST_WEIGHT": ["0.0025", "0.04"],
    "MOVED_0": ["1"],
    "MOVED_1": ["50"],
    "GAP": ["0.025", "0.4"],
    "CALLS": ["15", "60"],
    "CALLS_ALONE": ["30", "120"],
    "RESTS": ["100"],
    "MOST_QUARTERED": ["6"],
    "REWEIGHTING_CALLS": ["25"],
    "REWEIGHTINGS": ["2"],
    "HELD_OUT": ["3", "10"],
    "LEAST_SHARE": ["0.25", "0.75"],
    "MOST_COMPARED": ["100"],
    "DRAWN_TIMES": ["1"],
    "DRAWN_0": ["16384"],
    "DOUBT": ["3", "12"],
    "TOLD_NOTHING": ["1.5", "4"],
}
# Runs at a large budget take the most time, so not all tables are run there.
RUNS = [["--epsilon", "0.1,1", "--data", "ri-de,nm-id,wy-hi,adult050"], ["--epsilon", "10", "--data", "wy-hi,adult050"]]
CELL = ("data", "epsilon", "seed")


def read_from_environment(match):
    """The function that stands for a constant in the copy."""
    visible, name, kind, value = match.groups()
    if kind.startswith("("):
        kinds = kind.strip("()").split(", ")
        values = split_outside(value.strip("()"))
        parts = [part(f"{name}_{i}", kind, value) for i, (kind, value) in enumerate(zip(kinds, values))]
        body = "(" + ", ".join(parts) + ")"
    else:
        body = part(name, kind, value)
    return f"#[allow(non_snake_case)] {visible or ''}fn {name}() -> {kind} {{ {body} }}"


def split_outside(values):
    return [value.strip() for value in values.split(",")]


def part(name, kind, value):
    return f'std::env::var("ABLATION_{name}").map_or({value}, |own| own.parse::<{kind}>().expect("a number"))'


def copy(to):
    """A copy of the project in which constants are read from the environment."""
    files = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\n")
    for file in filter(None, files):
        (to / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / file, to / file)
    for file, uses in CONSTANTS.items():
        text = (to / file).read_text()
        names = [found[1] for found in CONSTANT.findall(text)]
        (to / file).write_text(CONSTANT.sub(read_from_environment, text))
        for use in [to / uses] if uses.suffix else sorted((to / uses).rglob("*.rs")):
            if use.name == "tests.rs":
                continue
            # Imports, comments and the functions themselves stay.
            pieces = re.split(r"(\buse [^;]*;|//[^\n]*|fn [A-Z_]+\(\)|\"[^\"]*\")", use.read_text())
            for i in range(0, len(pieces), 2):
                pieces[i] = re.sub(rf"\b({'|'.join(names)})\b", r"\1()", pieces[i])
            use.write_text("".join(pieces))


def run(program, out, seeds, name, value):
    folder = out / f"{name}={value}"
    own = {"JOINTLY_DATA": os.environ.get("JOINTLY_DATA", str(ROOT.parent / "shared/data"))}
    if name:
        own[f"ABLATION_{name}"] = value
    for options in RUNS:
        command = [program, "compare", ROOT / "protocols/ablations.toml", "--seed", seeds, "--threads", "1", "-q"]
        command += ["--out", folder, *options]
        subprocess.run(command, check=True, env={**os.environ, **own}, stdout=subprocess.DEVNULL)


def results(folder):
    with open(folder / "results.csv", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["mechanism"] == "anchor-pgm"]
    return {tuple(row[key] for key in CELL): row for row in rows}


def table(out):
    """Ratios of errors to those of the constants as they are: geometric means by epsilon, and the extremes."""
    before = results(out / "=")
    print("| constant | as it is | instead | ε = 0.1 | 1 | 10 | least | most | unchanged | CPU time |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    defaults = {}
    for file in CONSTANTS:
        for _, name, kind, value in CONSTANT.findall((ROOT / file).read_text()):
            values = split_outside(value.strip("()")) if kind.startswith("(") else [value]
            names = [f"{name}_{i}" for i in range(len(values))] if len(values) > 1 else [name]
            defaults.update(zip(names, values))
    for name, values in VALUES.items():
        for value in values:
            folder = out / f"{name}={value}"
            if not (folder / "results.csv").exists():
                continue
            after = results(folder)
            cells = sorted(set(before) & set(after))

            def ratio(cell, of):
                return float(after[cell][of]) / float(before[cell][of])

            def mean(cells, of="workload_error"):
                return math.exp(sum(math.log(ratio(cell, of)) for cell in cells) / len(cells)) if cells else math.nan

            errors = [ratio(cell, "workload_error") for cell in cells]
            same = sum(error == 1.0 for error in errors)
            by = [mean([cell for cell in cells if float(cell[1]) == epsilon]) for epsilon in (0.1, 1.0, 10.0)]
            numbers = " | ".join(f"{number:.3f}" for number in [*by, min(errors), max(errors)])
            print(f"| `{name}` | {defaults[name]} | {value} | {numbers} | {same} of {len(cells)} | {mean(cells, 'cpu_seconds'):.2f} |")


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--only", type=lambda names: names.split(","), help="constants to run (default: all)")
    arguments.add_argument("--seed", default="0", help="seeds of the protocol to run (default: 0)")
    arguments.add_argument("--out", type=Path, default=ROOT / "target/ablations", help="folder for the copy and results")
    arguments.add_argument("--jobs", type=int, default=1, help="values that run at the same time (default: 1)")
    arguments.add_argument("--table", action="store_true", help="print the table of what has been run, and run nothing")
    arguments = arguments.parse_args()
    out = arguments.out
    if not arguments.table:
        copy(out / "copy")
        target = out / "build"
        subprocess.run(
            ["cargo", "build", "--quiet"], cwd=out / "copy", check=True, env={**os.environ, "CARGO_TARGET_DIR": target}
        )
        program = target / "debug/jointly"
        names = [name for name in VALUES if not arguments.only or name in arguments.only]
        work = [("", "")] + [(name, value) for name in names for value in VALUES[name]]
        with ThreadPoolExecutor(arguments.jobs) as jobs:
            # As a list, so that an error in one of them is raised.
            list(jobs.map(lambda own: run(program, out, arguments.seed, *own), work))
    table(out)


if __name__ == "__main__":
    main()
