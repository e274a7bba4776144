"""The notebook runs, and says what it promises."""

from __future__ import annotations

import json
import pathlib

import jointly_dp as jd

NOTEBOOK = pathlib.Path(__file__).parents[2] / "examples" / "python" / "first_release.ipynb"


def test_the_notebook_runs_from_top_to_bottom(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    cells = [cell for cell in json.loads(NOTEBOOK.read_text())["cells"] if cell["cell_type"] == "code"]
    assert len(cells) > 6
    names: dict[str, object] = {"__name__": "__main__"}
    for cell in cells:
        assert not cell["outputs"], "outputs are not kept in the repository"
        exec(compile("".join(cell["source"]), NOTEBOOK.name, "exec"), names)
    table, private = names["table"], names["private"]
    assert list(table.columns) == list(private.columns)
    assert len(table) == len(private)
    errors = names["synth"].release_.errors["mean"]
    assert 0 < errors["lower"] < errors["upper"] < 0.5
    assert abs(names["found"]["error"]["mean_l1"] - errors["estimate"]) < 0.1
    assert jd.Model.load("model.json").is_private
    assert {path.name for path in tmp_path.iterdir()} == {
        "public.csv", "synthetic.csv", "report.html", "model.json", "ledger.json",
    }  # fmt: skip
