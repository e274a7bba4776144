"""Jointly's fit inside mbi (Private-PGM), and models to and from mbi. It needs mbi 1.1 or 2.0: ``pip install mbi``.

mbi's mechanisms measure, and an estimator fits a model to what they measured. :class:`Estimator` takes the place of
``mbi.estimation.MirrorDescent``; :func:`estimate` is the same as a function, for mbi 1.1 and for OpenDP, whose
mechanisms take it as ``dp.mbi.AIM(estimator=jointly_dp.mbi.estimate)``.

An estimator sees noisy measurements only. The privacy of a release is the affair of the mechanism that made them: Jointly's
guarantee, its exact noise and its ledger, does not cover mechanisms of other libraries.

>>> import mbi
>>> domain = mbi.Domain(["sex", "age"], [2, 3])
>>> noisy = [mbi.LinearMeasurement([5.0, 10.0, 15.0, 20.0, 25.0, 25.0], ("sex", "age"), 2.0)]
>>> model = Estimator().estimate(domain, noisy, tol=1e-9)
>>> [round(float(count)) for count in model.project(("age",)).values]
[25, 35, 40]
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from typing import Any

from . import _native
from ._errors import UsageError
from ._hosts import needed
from ._model import Model
from ._release import Release
from ._schema import Schema

mbi = needed("mbi", "mbi")
numpy = needed("numpy", "numpy")
jnp = needed("jax.numpy", "jax")

_Estimator: Any = mbi.Estimator
_MarkovRandomField: Any = mbi.MarkovRandomField

__all__ = ["CellQuery", "Estimator", "estimate", "from_mbi", "to_mbi", "to_mbi_measurements"]

_TAKES_CONSTRAINTS = hasattr(mbi, "Constraint")


@dataclasses.dataclass(frozen=True)
class Estimator(_Estimator):  # type: ignore[misc]
    """An estimator of mbi that fits with Jointly: in 64 bits, without compiling anything.

    It can stand wherever mbi takes an estimator. Measurements may have any query that answers with multiples of single
    cells, such as ``DatavectorQuery``, ``WeightedQuery`` and ``SlicedQuery``; of losses, only the squared loss of a list of
    measurements is taken. The parameters of :meth:`estimate` are those of :func:`estimate`.

    >>> import mbi
    >>> domain = mbi.Domain(["sex"], [2])
    >>> float(Estimator().estimate(domain, [mbi.LinearMeasurement([60.0, 41.0], ("sex",), 1.0)]).total)
    101.0
    """

    def estimate(self, domain: Any, loss_fn: Any, *args: Any, **kwargs: Any) -> Any:
        """Fits a model, as :func:`estimate` does."""
        if getattr(self, "marginal_oracle", None) is not None:
            raise UsageError("marginal_oracle is given, expected none: Jointly computes marginals exactly, with its own")
        return estimate(domain, loss_fn, *args, **kwargs)

    __call__ = estimate

    def precompile(self, *_: Any, **__: Any) -> Future[None]:
        """Nothing has to be compiled: the future is done."""
        done: Future[None] = Future()
        done.set_result(None)
        return done

    def _init(self, *_: Any, **__: Any) -> Any:
        raise UsageError("Jointly fits in one call and has no single steps: call estimate")

    _step = _finalize = _init


def estimate(
    domain: Any,
    loss_fn: Any,
    known_total: float | None = None,
    constraints: Sequence[Any] = (),
    iters: int = 1000,
    callback_fn: Callable[[Any], object] | None = None,
    warm_start: Any = None,
    tol: float | None = None,
    patience: int = 2,
    *,
    potentials: Any = None,
) -> Any:
    """Fits a ``mbi.MarkovRandomField`` to measurements, with Jointly.

    ``loss_fn``: a list of ``LinearMeasurement``, or with mbi 2.0 what ``from_linear_measurements`` makes of one.
    ``known_total``: number of records; by default what the whole marginals say on average. ``constraints``: what no record
    can have; Jointly's structural zeros (mbi 2.0). ``iters``: most oracle calls. The fit ends earlier, when the model agrees
    with every measurement within its noise or the loss hardly falls any more; with ``tol``, only when the loss falls by
    less than this share of itself over 25 calls. ``patience`` has no meaning here. ``warm_start``: a model or potentials to start
    from, which changes the time and not what is fitted; ``potentials``: the same, as mbi 1.1 and OpenDP name it.
    ``callback_fn``: called once, with the marginals of the result.

    >>> import mbi
    >>> domain = mbi.Domain(["a", "b"], [2, 2])
    >>> counts = [mbi.LinearMeasurement([60.0, 40.0], ("a",), 1.0), mbi.LinearMeasurement([30.0, 70.0], ("b",), 1.0)]
    >>> [round(float(count)) for count in estimate(domain, counts, tol=1e-9).project(("a", "b")).datavector()]
    [18, 42, 12, 28]
    """
    measurements = _linear(loss_fn)
    names = _names(domain)
    schema = _schema(domain, names, _masks(constraints))
    given = [_given(measurement, domain, names) for measurement in measurements]
    total = _total(given) if known_total is None else known_total
    given = [one for one in given if one[0]]
    start = _start(warm_start if potentials is None else potentials, names)
    native, _ = _native.fit_measurements(schema._native, given, float(total), iters, False, tol, start)
    fitted = _field(Model(native), domain, {name: attribute for attribute, name in names.items()}, tuple(constraints))
    if callback_fn is not None:
        callback_fn(fitted.marginals)
    return fitted


def to_mbi(model: Model) -> Any:
    """A graphical model of Jointly as a ``mbi.MarkovRandomField`` with the same potentials and marginals.

    Values are numbered as in the schema. Impossible combinations become constraints (mbi 2.0).

    >>> import jointly_dp as jd
    >>> model = jd.fit({"a": 2, "b": 3}, [jd.Measurement(["b"], [20, 30, 50])]).model
    >>> [round(float(count)) for count in to_mbi(model).project(("b",)).values]
    [20, 30, 50]
    """
    attributes = model.attributes
    domain = mbi.Domain(tuple(attributes), tuple(attributes.values()))
    constraints = []
    schema = json.loads(model.schema.to_json())
    if schema.get("forbidden") or schema.get("functional_dependencies"):
        if not _TAKES_CONSTRAINTS:
            raise UsageError("the schema has impossible combinations, expected none: this version of mbi has no constraints")
        for zeros in json.loads(model.to_json())["zeros"]:
            own = domain.project(zeros["attributes"])
            table = numpy.array([cell is None for cell in zeros["potentials"]]).reshape(own.shape)
            constraints.append(mbi.Constraint(own, invalid=numpy.argwhere(table)))
    return _field(model, domain, {name: name for name in attributes}, tuple(constraints))


def from_mbi(model: Any, schema: Schema | None = None, *, is_private: bool = False) -> Model:
    """A ``mbi.MarkovRandomField`` as a model of Jointly, to ask, sample and save.

    ``schema``: the columns, with as many values as the model's domain; by default integers that count from 0.
    ``is_private``: what the model says of itself; only the caller knows what it was made of.

    >>> import mbi
    >>> domain = mbi.Domain(["sex"], [2])
    >>> model = Estimator().estimate(domain, [mbi.LinearMeasurement([60.0, 40.0], ("sex",), 1.0)])
    >>> from_mbi(model).marginal(["sex"]).round().tolist()
    [60.0, 40.0]
    """
    if not hasattr(model, "potentials"):
        raise UsageError(f"the model is a {type(model).__name__}, expected a MarkovRandomField of mbi")
    names = _names(model.domain)
    sizes = {names[attribute]: size for attribute, size in model.domain.config.items()}
    schema = Schema(sizes) if schema is None else schema
    if schema.attributes != sizes:
        raise UsageError(f"the schema has the attributes {schema.attributes}, expected those of the model: {sizes}")
    tables: dict[tuple[str, ...], Any] = {}
    zeros = [constraint.potential for constraint in getattr(model, "constraints", ())]
    for factor in [*_tables(model.potentials).values(), *zeros]:
        own = [names[attribute] for attribute in factor.domain.attributes]
        if not own:
            continue
        order = sorted(range(len(own)), key=lambda axis: list(sizes).index(own[axis]))
        table = numpy.transpose(numpy.asarray(factor.values, numpy.float64), order)
        if not (numpy.isfinite(table) | numpy.isneginf(table)).all():
            raise UsageError(f"the potentials on {own} are not numbers, expected finite ones or minus infinity")
        clique = tuple(own[axis] for axis in order)
        tables[clique] = tables[clique] + table if clique in tables else table
    factors = [
        {"attributes": clique, "potentials": [None if cell == -numpy.inf else cell for cell in table.ravel().tolist()]}
        for clique, table in tables.items()
    ]
    members = {
        "format": "jointly-model",
        "version": 6,  # without "zeros": the reader derives those of the schema
        "mechanism": "mbi",
        "private": is_private,
        "total": float(model.total),
        "schema": json.loads(schema.to_json()),
        "factors": factors,
    }
    return Model.from_json(_sealed(members))


def _sealed(members: dict[str, Any]) -> str:
    """The text of a model file with the digest of its content (docs/guide/model-file.md)."""
    content = json.dumps(dict(sorted(members.items())), separators=(",", ":"))
    digest = hashlib.sha256(content.encode()).hexdigest()
    return json.dumps({**members, "digest": f"sha256:{digest}"})


@dataclasses.dataclass(frozen=True)
class CellQuery:
    """The query of a single cell, row-major: ``f.datavector()[cell]``.

    >>> import mbi
    >>> domain = mbi.Domain(["sex"], [2])
    >>> float(CellQuery(1)(mbi.Factor(domain, numpy.array([60.0, 40.0])))[0])
    40.0
    """

    cell: int

    def __call__(self, factor: Any) -> Any:
        return factor.datavector()[self.cell : self.cell + 1]

    def op_norm_sq(self) -> float:
        return 1.0


def to_mbi_measurements(release: Release) -> list[Any]:
    """The private measurements of a release as a list of ``mbi.LinearMeasurement``, for mbi's own estimators.

    Marginals of public tables are left out: they have no noise, and mbi would take them for exact counts of the private
    table.

    >>> import jointly_dp as jd
    >>> synth = jd.Synthesizer(jd.Schema({"sex": 2}), epsilon=1.0, delta=1e-6, mechanism="independent")
    >>> release = synth.fit({"sex": [0, 1] * 50}).release_
    >>> [measurement.clique for measurement in to_mbi_measurements(release)]
    [('sex',)]
    """
    found = []
    for measured in release.measurements:
        if measured.source is None:
            query = {} if measured.cell is None else {"query": CellQuery(measured.cell)}
            values = jnp.asarray(measured.values)
            found.append(mbi.LinearMeasurement(values, measured.attributes, measured.stddev, **query))
    return found


class _Field(_MarkovRandomField):  # type: ignore[misc]
    """mbi's model, whose marginals off the measured cliques come from Jointly, exactly and without compiling."""

    def project(self, attrs: Any) -> Any:
        attributes = (attrs,) if isinstance(attrs, (str, int)) else tuple(attrs)
        own = getattr(self, "_own", None)  # a copy by mbi has none
        if own is None or not attributes or self.marginals.supports(attributes):
            return super().project(attributes)
        model, names = own
        values = model.marginal([names[attribute] for attribute in attributes])
        return mbi.Factor(self.domain.project(attributes), jnp.asarray(values))


def _field(model: Model, domain: Any, attributes: dict[str, Any], constraints: tuple[Any, ...]) -> Any:
    """The model over a domain of mbi. ``attributes``: mbi's names by ours."""
    own = {attribute: name for name, attribute in attributes.items()}
    potentials, marginals = {}, {}
    for names, thetas, counts in model._native.factors():
        clique = tuple(attributes[name] for name in names)
        sub = domain.project(clique)
        potentials[clique] = mbi.Factor(sub, jnp.asarray(numpy.array(thetas).reshape(sub.shape)))
        marginals[clique] = mbi.Factor(sub, jnp.asarray(numpy.array(counts).reshape(sub.shape)))
    for constraint in constraints:
        # mbi draws records by the cliques of the potentials.
        clique = tuple(domain.canonical(constraint.domain.attributes))
        if not any(set(clique) <= set(held) for held in potentials):
            sub = domain.project(clique)
            potentials[clique] = mbi.Factor.zeros(sub)
            marginals[clique] = mbi.Factor(sub, jnp.asarray(model.marginal([own[a] for a in clique])))
    cliques = list(potentials)
    field = _Field(
        potentials=mbi.CliqueVector(domain, cliques, potentials),
        marginals=mbi.CliqueVector(domain, cliques, marginals),
        total=model.total,
        **({"constraints": constraints} if constraints else {}),
    )
    object.__setattr__(field, "_own", (model, own))
    return field


def _names(domain: Any) -> dict[Any, str]:
    """Jointly's names of mbi's attributes, which may be numbers."""
    names = {attribute: str(attribute) for attribute in domain.attributes}
    if len(set(names.values())) < len(names):
        raise UsageError(f"two of the attributes {list(names)} have the same name")
    return names


def _linear(loss_fn: Any) -> list[Any]:
    """The measurements of a squared loss."""
    if isinstance(loss_fn, (list, tuple)):
        return list(loss_fn)
    squared = getattr(mbi.marginal_loss, "_l2_loss", None)
    if squared is not None and getattr(loss_fn, "loss_fn", None) is squared:
        return list(loss_fn.data)
    raise UsageError(
        f"the loss is a {type(loss_fn).__name__} whose formula Jointly cannot see, expected a list of LinearMeasurement: "
        "it fits squared errors of measurements, and knows how far noise may take them; for other losses use an estimator of mbi"
    )


def _masks(constraints: Sequence[Any]) -> list[tuple[tuple[Any, ...], Any]]:
    """The attributes of each constraint, and which combinations it forbids."""
    return [
        (tuple(constraint.domain.attributes), numpy.isneginf(numpy.asarray(constraint.potential.values)))
        for constraint in constraints
    ]


def _schema(domain: Any, names: dict[Any, str], masks: Iterable[tuple[tuple[Any, ...], Any]]) -> Schema:
    """Integers that count from 0, with the combinations that are forbidden."""
    sizes = {names[attribute]: size for attribute, size in domain.config.items()}
    rules = []
    for attributes, mask in masks:
        own = [names[attribute] for attribute in attributes]
        for prefix in numpy.argwhere(mask.any(axis=-1)).tolist():
            last = numpy.flatnonzero(mask[tuple(prefix)]).tolist()
            rules.append({**dict(zip(own, prefix)), own[-1]: last})
    if not rules:
        return Schema(sizes)
    columns = [{"name": name, "kind": "coded", "size": size} for name, size in sizes.items()]
    return Schema({"columns": columns, "forbidden": rules})


def _total(given: list[tuple[list[str], list[float], float, list[float] | None]]) -> float:
    """The number of records that whole marginals say on average, weighted by the precision of their sums; at least 1."""
    whole = [(sum(values), 1.0 / (stddev**2 * len(values))) for _, values, stddev, own in given if own is None]
    if given and not whole:
        raise UsageError("no whole marginal was measured, expected one, or the number of records as known_total")
    weight = sum(precision for _, precision in whole)
    return max(1.0, sum(total * precision for total, precision in whole) / weight) if whole else 1.0


def _given(measurement: Any, domain: Any, names: dict[Any, str]) -> tuple[list[str], list[float], float, list[float] | None]:
    """A measurement as the native module takes it: with the precision of each cell, where they differ."""
    clique = tuple(measurement.clique)
    own = [names[attribute] for attribute in clique]
    sub = domain.project(clique)
    size = sub.size() if own else 1
    answers = numpy.asarray(measurement.noisy_measurement, numpy.float64).ravel()
    stddev = float(measurement.stddev)
    if not stddev > 0.0:
        raise UsageError(f"the measurement of {own} has the standard deviation {stddev}, expected a number above 0")
    query = measurement.query
    whole = query == mbi.Factor.datavector or (_TAKES_CONSTRAINTS and isinstance(query, mbi.marginal_loss.DatavectorQuery))
    if whole:
        places, weights = numpy.arange(size), numpy.ones(size)
    else:
        places, weights = _cells(query, sub, own)
    if len(answers) != len(places):
        raise UsageError(f"the measurement of {own} has {len(answers)} answers, expected {len(places)}")
    if whole:
        return own, answers.tolist(), stddev, None
    known = weights != 0.0
    places, weights, answers = places[known], weights[known], answers[known]
    precisions, sums = numpy.zeros(size), numpy.zeros(size)
    numpy.add.at(precisions, places, (weights / stddev) ** 2)
    numpy.add.at(sums, places, weights * answers / stddev**2)
    targets = numpy.divide(sums, precisions, out=sums, where=precisions > 0.0)
    return own, targets.tolist(), stddev, precisions.tolist()


def _cells(query: Callable[[Any], Any], domain: Any, names: list[str]) -> tuple[Any, Any]:
    """For each answer of a query, the cell that it is a multiple of, and the multiple.

    Found by asking about tables that are known, and then checked on another one: a query with answers that are not multiples
    of single cells is refused.
    """

    def ask(cells: Any) -> Any:
        return numpy.asarray(query(mbi.Factor(domain, jnp.asarray(cells.reshape(domain.shape)))), numpy.float64).ravel()

    size, base = domain.size(), 1024
    index = numpy.arange(size, dtype=numpy.float64)
    weights = ask(numpy.ones(size))
    divisors = numpy.where(weights == 0.0, 1.0, weights)
    # In two digits, which 32-bit numbers hold exactly.
    digits = [numpy.rint(ask(digit) / divisors) for digit in (index // base, index % base)]
    places = digits[0] * base + digits[1]
    inside = numpy.isfinite(places) & (places >= 0) & (places < size)
    places = numpy.where(inside, places, 0).astype(int)
    check = numpy.random.default_rng(0).uniform(0.5, 1.5, size)
    same = numpy.isclose(ask(check), weights * check[places], rtol=1e-4, atol=1e-6)
    if not (inside.all() and same.all() and (ask(numpy.zeros(size)) == 0.0).all()):
        raise UsageError(
            f"the query of the measurement of {names} has answers that are not multiples of single cells, expected a weighted "
            "or partial marginal: measure the smaller marginal itself, or use an estimator of mbi"
        )
    return places, weights


def _tables(vector: Any) -> dict[Any, Any]:
    """The factors of a ``CliqueVector``, by clique."""
    tables: dict[Any, Any] = vector.tables if hasattr(vector, "tables") else vector.arrays
    return tables


def _start(given: Any, names: dict[Any, str]) -> list[tuple[list[str], list[float]]]:
    """Potentials to start from, as the native module takes them."""
    if given is None:
        return []
    tables = _tables(given if isinstance(given, mbi.CliqueVector) else given.potentials)
    found = []
    for factor in tables.values():
        own = [names[attribute] for attribute in factor.domain.attributes]
        if own:
            found.append((own, numpy.asarray(factor.values, numpy.float64).ravel().tolist()))
    return found
