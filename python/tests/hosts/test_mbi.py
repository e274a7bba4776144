"""`jointly_dp.mbi` with the real mbi, 1.1 or 2.0: against mbi's own estimators, to convergence."""

from __future__ import annotations

import copy
import itertools
import pickle

import jointly_dp as jd
import pytest

mbi = pytest.importorskip("mbi", reason="NOT TESTED: mbi is not installed")
np = pytest.importorskip("numpy")
jax = pytest.importorskip("jax")
hook = pytest.importorskip("jointly_dp.mbi")

jax.config.update("jax_enable_x64", True)

DOMAIN = mbi.Domain(["a", "b", "c", "d"], [2, 3, 4, 5])
RECORDS = 5000
NEW = hasattr(mbi, "Constraint")
needs_mbi_2 = pytest.mark.skipif(not NEW, reason="mbi 1.1 has none of this")


def table(seed: int) -> np.ndarray:
    """Counts of invented records, far from independent."""
    draw = np.random.default_rng(seed)
    return draw.multinomial(RECORDS, draw.dirichlet(np.full(120, 0.3))).reshape(DOMAIN.shape).astype(float)


def marginal(counts: np.ndarray, clique: tuple[str, ...]) -> np.ndarray:
    axes = [DOMAIN.attributes.index(name) for name in clique]
    rest = tuple(axis for axis in range(4) if axis not in axes)
    kept = [axis for axis in range(4) if axis in axes]
    return np.transpose(counts.sum(axis=rest), [kept.index(axis) for axis in axes])


def measured(cliques, seed: int, stddev: float = 10.0) -> list:
    """Noisy marginals, each with its axes in the order of its clique."""
    counts, draw = table(seed), np.random.default_rng(seed + 100)
    found = []
    for clique in cliques:
        exact = marginal(counts, clique).ravel()
        found.append(mbi.LinearMeasurement(exact + draw.normal(0, stddev, exact.size), clique, stddev))
    return found


def loss(model, measurements) -> float:
    """½ Σ ‖Q μ - y‖²/σ², from the model's own marginals."""
    total = 0.0
    for one in measurements:
        answers = np.asarray(one.query(model.project(one.clique)))
        total += 0.5 * (((answers - np.asarray(one.noisy_measurement)) / one.stddev) ** 2).sum()
    return total


def theirs(measurements, **further):
    if NEW:
        return mbi.estimation.MirrorDescent().estimate(DOMAIN, measurements, iters=5000, **further)
    return mbi.estimation.mirror_descent(DOMAIN, measurements, iters=5000, **further)


CLIQUES = [[("a", "b"), ("b", "c"), ("d", "c")], [("c", "a"), ("a", "b"), ("b", "c"), ("d",)], [("d", "b", "a"), ("c", "d")]]


@pytest.mark.parametrize("cliques", CLIQUES)
def test_the_fit_is_the_one_that_mirror_descent_converges_to(cliques):
    measurements = measured(cliques, 1)
    ours = hook.Estimator().estimate(DOMAIN, measurements, iters=5000, tol=1e-9)
    other = theirs(measurements)
    assert loss(ours, measurements) <= loss(other, measurements) * (1 + 1e-5)
    assert float(ours.total) == pytest.approx(float(other.total))
    for clique in [*cliques, ("a", "d"), ("d", "a"), ("b",), ("a", "b", "c", "d")]:
        mine, its = np.asarray(ours.project(clique).values), np.asarray(other.project(clique).values)
        assert ours.project(clique).domain.attributes == clique
        assert np.abs(mine - its).sum() < 0.003 * RECORDS, clique


def test_by_default_the_fit_ends_within_the_noise():
    measurements = measured(CLIQUES[1], 2)
    model = hook.estimate(DOMAIN, measurements)
    answers = sum(np.size(one.noisy_measurement) for one in measurements)
    assert loss(model, measurements) < 0.5 * answers + 3 * np.sqrt(0.5 * answers)


def test_marginals_potentials_and_total_are_of_one_model():
    """mbi's own inference on our potentials gives our marginals."""
    ours = hook.estimate(DOMAIN, measured(CLIQUES[1], 3))
    plain = mbi.MarkovRandomField(potentials=ours.potentials, marginals=ours.marginals, total=ours.total)
    for clique in itertools.combinations(DOMAIN.attributes, 3):
        both = [np.asarray(model.project(clique).values) for model in (ours, plain)]
        assert both[0] == pytest.approx(both[1], rel=1e-6, abs=1e-6)


@needs_mbi_2
@pytest.mark.parametrize("kind", ["weighted", "sliced", "lambda", "scaled permutation"])
def test_queries_of_single_cells_are_fitted_exactly(kind):
    draw = np.random.default_rng(5)
    weights = draw.uniform(0.2, 2.0, 12)
    order = draw.permutation(12)[:7]
    query = {
        "weighted": mbi.WeightedQuery(weights),
        "sliced": mbi.SlicedQuery(3),
        "lambda": lambda factor: factor.datavector() * weights,
        "scaled permutation": lambda factor: 3.0 * factor.datavector()[order],
    }[kind]
    exact = mbi.Factor(DOMAIN.project(("b", "c")), marginal(table(6), ("b", "c")))
    answers = np.asarray(query(exact))
    partial = mbi.LinearMeasurement(answers + draw.normal(0, 4.0, answers.size), ("b", "c"), 4.0, query)
    measurements = [*measured([("b", "c"), ("c", "d")], 6), partial]
    ours = hook.Estimator().estimate(DOMAIN, measurements, RECORDS, iters=5000, tol=1e-9)
    other = theirs(measurements, known_total=RECORDS)
    assert loss(ours, measurements) <= loss(other, measurements) * (1 + 1e-4)
    values = [np.asarray(model.project(("b", "c")).values) for model in (ours, other)]
    assert np.abs(values[0] - values[1]).sum() < 0.005 * RECORDS


def test_other_queries_and_losses_are_refused_with_a_reason():
    sums = mbi.LinearMeasurement(np.ones(3), ("b", "c"), 1.0, lambda factor: factor.values.sum(axis=1))
    squares = mbi.LinearMeasurement(np.ones(3), ("b",), 1.0, lambda factor: factor.datavector() ** 2)
    for wrong in (sums, squares):
        with pytest.raises(jd.UsageError, match="not multiples of single cells"):
            hook.estimate(DOMAIN, [wrong])
    opaque = mbi.MarginalLossFn([("a", "b")], lambda *_: 0.0)
    with pytest.raises(jd.UsageError, match="cannot see"):
        hook.estimate(DOMAIN, opaque, 10.0)
    absolute = mbi.marginal_loss.from_linear_measurements(measured([("a",)], 1), domain=DOMAIN, norm="l1")
    with pytest.raises(jd.UsageError, match="cannot see"):
        hook.estimate(DOMAIN, absolute, 10.0)
    with pytest.raises(jd.UsageError, match="standard deviation 0.0"):
        hook.estimate(DOMAIN, [mbi.LinearMeasurement(np.ones(2), ("a",), 0.0)])
    with pytest.raises(jd.UsageError, match="1 answers, expected 2"):
        hook.estimate(DOMAIN, [mbi.LinearMeasurement(np.ones(1), ("a",), 1.0)])


@needs_mbi_2
def test_the_squared_loss_of_a_list_is_its_list():
    measurements = measured(CLIQUES[0], 7)
    both = [
        hook.estimate(DOMAIN, given, RECORDS)
        for given in (measurements, mbi.marginal_loss.from_linear_measurements(measurements, DOMAIN))
    ]
    assert np.array_equal(*[np.asarray(model.project(("a", "b")).values) for model in both])


def test_totals_only_and_nothing_at_all():
    total = mbi.LinearMeasurement(np.array([77.0]), (), 1.0)
    assert float(hook.estimate(DOMAIN, [total]).total) == pytest.approx(77.0)
    model = hook.estimate(DOMAIN, [total, *measured([("a",)], 1)], 1000.0)
    assert float(model.project(("a",)).values.sum()) == pytest.approx(1000.0)
    with pytest.raises(jd.UsageError, match="no whole marginal"):
        hook.estimate(DOMAIN, [mbi.LinearMeasurement(np.ones(1), ("a",), 1.0, hook.CellQuery(1))])
    assert float(hook.estimate(DOMAIN, []).total) == 1.0
    assert np.asarray(hook.estimate(DOMAIN, [total]).project(("a",)).values) == pytest.approx([38.5, 38.5])


@needs_mbi_2
def test_constraints_are_structural_zeros():
    pairs = mbi.Constraint(DOMAIN.project(("a", "b")), invalid=np.array([[0, 1], [1, 2]]))
    copied = mbi.Constraint(DOMAIN.project(("c", "a")), mapping=np.array([0, 1, 1, 0]))
    measurements = measured([("a", "b"), ("b", "c")], 8)
    ours = hook.Estimator().estimate(DOMAIN, measurements, constraints=[pairs, copied], iters=5000, tol=1e-9)
    other = theirs(measurements, constraints=[pairs, copied])
    both = np.asarray(ours.project(("a", "b")).values), np.asarray(ours.project(("c", "a")).values)
    assert both[0][0, 1] == both[0][1, 2] == 0.0
    assert (both[1][[0, 1, 2, 3], [1, 0, 0, 1]] == 0.0).all()
    assert loss(ours, measurements) <= loss(other, measurements) * (1 + 1e-4)
    rows = ours.synthetic_data(400).to_dict()
    assert not ((rows["a"] == 0) & (rows["b"] == 1)).any()
    back = hook.from_mbi(ours)
    assert back.marginal(["a", "b"]) == pytest.approx(both[0], abs=1e-6)


def test_warm_starts_change_the_time_only():
    measurements = measured(CLIQUES[2], 9)
    cold = hook.estimate(DOMAIN, measurements, tol=1e-10, iters=5000)
    for start in (cold, cold.potentials, theirs(measured([("a", "c")], 3))):
        warm = hook.estimate(DOMAIN, measurements, tol=1e-10, iters=5000, warm_start=start)
        assert loss(warm, measurements) == pytest.approx(loss(cold, measurements), rel=1e-6)
    again = hook.estimate(DOMAIN, measurements, iters=1, potentials=cold.potentials)
    assert loss(again, measurements) <= loss(cold, measurements) * (1 + 1e-6)


def test_the_callback_gets_the_marginals():
    seen = []
    model = hook.estimate(DOMAIN, measured(CLIQUES[0], 1), callback_fn=seen.append)
    assert len(seen) == 1 and seen[0] is model.marginals


@needs_mbi_2
def test_attributes_may_be_numbers():
    domain = mbi.Domain([0, 1], [2, 3])
    model = hook.Estimator().estimate(domain, [mbi.LinearMeasurement(np.arange(6.0), (1, 0), 1.0)], 15.0, tol=1e-9)
    assert np.asarray(model.project((1, 0)).values).ravel() == pytest.approx(np.arange(6.0), abs=0.01)
    assert np.asarray(model.project(0).values) == pytest.approx([6, 9], abs=0.01)


def test_models_go_there_and_back(tmp_path):
    draw = np.random.default_rng(4)
    noisy = [jd.Measurement(names, draw.uniform(5, 50, size)) for names, size in ((("a", "b"), 6), (("b", "c"), 12))]
    model = jd.fit({"a": 2, "b": 3, "c": 4}, noisy).model
    there = hook.to_mbi(model)
    assert isinstance(there, mbi.MarkovRandomField)
    assert np.asarray(there.project(("a", "c")).values) == pytest.approx(model.marginal(["a", "c"]), rel=1e-6)
    back = hook.from_mbi(there, model.schema, is_private=True)
    assert back.is_private and back.total == pytest.approx(model.total)
    back.save(tmp_path / "model.json")
    again = jd.Model.load(tmp_path / "model.json")
    assert again.marginal(["c", "a"]) == pytest.approx(model.marginal(["c", "a"]), rel=1e-6)
    for copied in (copy.deepcopy(there), pickle.loads(pickle.dumps(there))):
        assert np.asarray(copied.project(("a", "c")).values) == pytest.approx(model.marginal(["a", "c"]), rel=1e-6)
    fitted = theirs(measured(CLIQUES[0], 5))
    taken = hook.from_mbi(fitted)
    assert taken.marginal(["a", "d"]) == pytest.approx(np.asarray(fitted.project(("a", "d")).values), rel=1e-5, abs=1e-5)
    with pytest.raises(jd.UsageError, match="expected those of the model"):
        hook.from_mbi(fitted, jd.Schema({"a": 2}))
    with pytest.raises(jd.UsageError, match="expected a MarkovRandomField"):
        hook.from_mbi(object())


@needs_mbi_2
def test_impossible_combinations_become_constraints():
    columns = [{"name": name, "kind": "coded", "size": 3} for name in ("x", "y")]
    schema = jd.Schema({"columns": columns, "forbidden": [{"x": [0], "y": [1, 2]}]})
    model = jd.fit(schema, [jd.Measurement(["x"], [10, 20, 30]), jd.Measurement(["y"], [20, 20, 20])]).model
    there = hook.to_mbi(model)
    [constraint] = there.constraints
    assert sorted(constraint.invalid.tolist()) == [[0, 1], [0, 2]]
    back = hook.from_mbi(there, model.schema)
    assert back.marginal(["x", "y"]) == pytest.approx(model.marginal(["x", "y"]), rel=1e-6)
    rows = there.synthetic_data(60).to_dict()
    assert not ((rows["x"] == 0) & (rows["y"] > 0)).any()


def test_a_release_becomes_measurements_for_mbi():
    draw = np.random.default_rng(2)
    rows = {"a": draw.integers(0, 2, 2000), "b": draw.integers(0, 3, 2000), "c": draw.integers(0, 4, 2000)}
    rows["b"] = np.where(rows["a"] == 1, 2, rows["b"])
    synth = jd.Synthesizer(jd.Schema({"a": 2, "b": 3, "c": 4}), epsilon=3.0, delta=1e-6, mechanism="mst")
    release = synth.fit(rows).release_
    measurements = hook.to_mbi_measurements(release)
    assert len(measurements) == len(release.measurements)
    domain = mbi.Domain(["a", "b", "c"], [2, 3, 4])
    fitted = hook.estimate(domain, measurements)
    assert np.abs(np.asarray(fitted.project(("a", "b")).values) - release.model.marginal(["a", "b"])).sum() < 60
    cell = hook.CellQuery(4)(mbi.Factor(domain.project(("a", "b")), np.arange(6.0).reshape(2, 3)))
    assert np.asarray(cell).tolist() == [4.0]


@needs_mbi_2
def test_nothing_is_compiled_ahead_and_no_step_is_taken_alone():
    estimator = hook.Estimator()
    assert estimator.precompile(DOMAIN, measured([("a",)], 1)).done()
    with pytest.raises(jd.UsageError, match="call estimate"):
        estimator._step(None, None, 1.0)
    with pytest.raises(jd.UsageError, match="marginal_oracle"):
        hook.Estimator(marginal_oracle=mbi.marginal_oracles.brute_force_marginals).estimate(DOMAIN, [])
