"""`jointly_dp.mbi.estimate` as the estimator of OpenDP's own mechanisms, with the real OpenDP and the mbi that it asks for."""

from __future__ import annotations

import warnings

import pytest

dp = pytest.importorskip("opendp.prelude", reason="NOT TESTED: OpenDP is not installed")
pl = pytest.importorskip("polars", reason="NOT TESTED: polars is not installed")
pytest.importorskip("mbi", reason="NOT TESTED: mbi is not installed")
np = pytest.importorskip("numpy")
jd_mbi = pytest.importorskip("jointly_dp.mbi")

dp.enable_features("contrib")

KEYS = {"sex": [1, 2], "region": ["n", "s", "e", "w"], "job": ["none", "part", "full"]}


@pytest.fixture(scope="module")
def people() -> pl.DataFrame:
    """6,000 records in which the job depends on the region."""
    draw = np.random.default_rng(3)
    region = draw.integers(0, 4, 6000)
    job = np.where(draw.uniform(size=6000) < 0.8, region % 3, draw.integers(0, 3, 6000))
    return pl.DataFrame({
        "sex": draw.integers(1, 3, 6000),
        "region": np.array(KEYS["region"])[region],
        "job": np.array(KEYS["job"])[job],
    })  # fmt: skip


def release(people: pl.DataFrame, algorithm, keys: dict[str, list], rho: float = 0.5):
    delta = {} if len(keys) == people.width else {"delta": 1e-7}
    context = dp.Context.compositor(
        data=people.lazy(), privacy_unit=dp.unit_of(contributions=1), privacy_loss=dp.loss_of(rho=rho, **delta)
    )
    query = context.query(rho=rho, **delta).select(*people.columns)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return query.contingency_table(keys=keys, algorithm=algorithm).release()


def seen(calls: list):
    """Our estimator, and what it was called with."""

    def estimator(domain, measurements, *, potentials=None):
        calls.append((len(measurements), potentials is not None))
        return jd_mbi.estimate(domain, measurements, potentials=potentials)

    return estimator


def algorithms(estimator):
    return [
        dp.mbi.AIM(estimator=estimator, queries=2, rounds=4),
        dp.mbi.MST(estimator=estimator),
        dp.mbi.Fixed(estimator=estimator, queries=[dp.mbi.Count(("region", "job")), dp.mbi.Count(("sex",))]),
    ]


@pytest.mark.parametrize("at", range(3), ids=["AIM", "MST", "Fixed"])
def test_every_algorithm_of_opendp_takes_the_estimator(people, at):
    calls: list = []
    table = release(people, algorithms(seen(calls))[at], KEYS)
    assert calls
    exact = people.group_by("region", "job").len()
    found = table.project_melted(["region", "job"])
    joined = found.join(exact, on=["region", "job"], how="left", suffix="_exact").fill_null(0)
    assert (joined["len"] - joined["len_exact"]).abs().sum() < 0.15 * 6000
    rows = table.synthesize(2000)
    assert rows.height == 2000 and set(rows["job"]) <= {*KEYS["job"], None}


def test_keys_that_opendp_discovers_are_partial_marginals(people):
    """The last cell of such a marginal is not measured; it is what is left of the total."""
    calls: list = []
    keys = {name: KEYS[name] for name in ("sex", "region")}
    table = release(people, dp.mbi.AIM(estimator=seen(calls), queries=2, rounds=4), keys, rho=2.0)
    assert any(with_start for _, with_start in calls)
    counts = dict(table.project_melted("job").iter_rows())
    exact = dict(people.group_by("job").len().iter_rows())
    assert all(abs(counts[job] - exact[job]) < 150 for job in KEYS["job"])


def test_the_fit_is_the_one_of_opendp_with_its_own_estimator(people):
    """Same measurements, both estimators."""
    table = release(people, dp.mbi.Fixed(queries=[dp.mbi.Count(("region", "job")), dp.mbi.Count(("sex", "job"))]), KEYS)
    measurements = table.marginals.flatten()
    ours = jd_mbi.estimate(table.model.domain, measurements, tol=1e-9, iters=5000)
    for clique in (("region", "job"), ("sex", "job"), ("sex", "region")):
        both = [np.asarray(model.project(clique).values) for model in (ours, table.model)]
        assert np.abs(both[0] - both[1]).sum() < 0.02 * 6000
