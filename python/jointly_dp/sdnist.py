"""Labels for the reports of SDNist: ``pip install sdnist``. This module itself does not need SDNist.

>>> import jointly_dp as jd
>>> synth = jd.Synthesizer(jd.Schema({"sex": 2}), epsilon=1.0, delta=1e-6, mechanism="independent")
>>> found = labels(synth.fit({"sex": [0, 1] * 50}).release_)
>>> found["algorithm name"], found["epsilon"], found["privacy unit"]
('independent', '1.0', 'one record, replaced')
"""

from __future__ import annotations

import json

from ._native import __version__
from ._release import Release

__all__ = ["labels"]

def labels(release: Release) -> dict[str, str]:
    """What SDNist's report says of the way a table was made: library, mechanism, budget, relation of neighboring tables.

    Write it as JSON to a file for ``python -m sdnist.report TABLE TARGET --labels FILE``. All of it is public. A release whose noise
    came from a fixed seed is labeled as not private.
    """
    ledger = json.loads(release.ledger.to_json())
    unit = "one record, " + ("replaced" if ledger["neighbors"] == "replace-one" else "added or removed")
    if "unit" in ledger:
        most, column = ledger["unit"]["max_records"], ledger["unit"]["column"]
        unit = f"up to {most} records with the same {column}, added or removed"
    found = {
        "library name": "jointly",
        "library version": __version__,
        "algorithm name": ledger["mechanism"],
        "epsilon": str(ledger["epsilon"]),
        "delta": str(ledger["delta"]),
        "rho of zero-concentrated differential privacy": str(release.ledger.spent),
        "privacy unit": unit,
        "privacy category": "dp" if release.is_private else "none: the noise came from a fixed seed",
    }
    public = [table["name"] for table in ledger["public_tables"]]
    return {**found, "public tables": ", ".join(public)} if public else found
