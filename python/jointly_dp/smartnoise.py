"""Jointly's mechanisms as synthesizers of SmartNoise Synth: ``pip install smartnoise-synth``.

After :func:`register`, ``snsynth.Synthesizer.create("jam-pgm", epsilon=1.0)`` makes one. Noise, selection and accounting are
Jointly's, as on its command line: the guarantee covers them. It needs the values of the columns: a :class:`Schema`, or a
transformer of SmartNoise that was fitted before. SmartNoise would otherwise take the values of categorical columns from the
private rows, and nothing would pay for that.

>>> import jointly_dp as jd
>>> import pandas, snsynth
>>> names = register()
>>> synth = snsynth.Synthesizer.create("independent", epsilon=3.0, schema=jd.Schema({"sex": 2, "age": 4}))
>>> people = pandas.DataFrame({"sex": [0, 1, 1, 0] * 100, "age": [3, 1, 2, 2] * 100})
>>> synth.fit_sample(people).columns.tolist(), synth.release_.is_private
(['sex', 'age'], True)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from . import _tools
from ._errors import UsageError
from ._hosts import needed
from ._release import Release
from ._schema import Schema
from ._synthesizer import Synthesizer
from ._tables import Table

base = needed("snsynth.base", "smartnoise-synth")
table = needed("snsynth.transform.table", "smartnoise-synth")
numpy = needed("numpy", "numpy")
pandas = needed("pandas", "pandas")

__all__ = ["JointlySynthesizer", "register"]

_Base: Any = base.Synthesizer


class JointlySynthesizer(_Base):  # type: ignore[misc]
    """A mechanism of Jointly with the interface of SmartNoise; :func:`register` makes one class for each mechanism.

    ``epsilon``, ``delta``: the budget, for replacing one record by default. ``schema``: the columns, if :meth:`fit` gets no
    transformer. Other parameters are those of :class:`jointly_dp.Synthesizer`. After :meth:`fit`, ``release_`` has the
    ledger and the model.
    """

    mechanism = "jam-pgm"

    def __init__(self, epsilon: float, delta: float = 1e-9, *, schema: Schema | None = None, **parameters: Any) -> None:
        self.epsilon = float(epsilon)
        self.delta = delta
        self.schema = schema
        self.parameters = parameters
        self._transformer: Any = None

    def fit(
        self,
        data: Any,
        *ignore: Any,
        transformer: Any = None,
        public: Mapping[str, Table] | None = None,
        **hints: Any,
    ) -> None:
        """Runs the mechanism on the private table. Spends the budget.

        ``data``: a frame of pandas, an array of numpy or a list of tuples, with the columns of the schema in order.
        ``transformer``: a :class:`Schema`, or a fitted ``TableTransformer`` without continuous columns; what its fit spent is
        subtracted from the budget. ``public``: public tables by name. ``hints``: SmartNoise's ``categorical_columns`` and
        the like, which are not needed; ``preprocessor_eps`` other than 0 is refused.
        """
        if hints.pop("preprocessor_eps", 0.0):
            raise UsageError("preprocessor_eps is given, expected 0: nothing is inferred from the private rows")
        unknown = set(hints) - {"categorical_columns", "ordinal_columns", "continuous_columns", "nullable"}
        if unknown:
            raise UsageError(f"fit got {sorted(unknown)}, which it does not know")
        given = self.schema if transformer is None else transformer
        epsilon, delta = self.epsilon, self.delta
        if isinstance(given, Schema):
            schema, rows, self._transformer = given, data, None
        elif isinstance(given, table.TableTransformer) and given.fit_complete and given.transformers:
            sizes = given.cardinality
            if any(size is None for size in sizes):
                raise UsageError("the transformer has continuous columns, expected categorical ones or bins")
            spent = (0.0, 0.0) if given.odometer is None else given.odometer.spent
            epsilon, delta = epsilon - spent[0], delta - spent[1]
            schema = Schema({f"column {place}": int(size) for place, size in enumerate(sizes, 1)})
            rows, self._transformer = given.transform(data), given
        else:
            raise UsageError(
                f"the transformer is a {type(given).__name__}, expected a jointly_dp.Schema or a fitted TableTransformer: the "
                "values of the columns must be known, and may not be taken from the private rows"
            )
        # `sample` draws other records than those whose errors would be measured.
        settings = {"error_share": 0.0, **self.parameters}
        synth = Synthesizer(schema, epsilon=epsilon, delta=delta, mechanism=self.mechanism, **settings)
        self._synth = synth.fit(_columns(rows, schema), public=public)
        self._kind, self._names = type(data), list(schema.attributes)
        self.release_: Release = synth.release_

    def sample(self, n_rows: int | None = None) -> Any:
        """Draws records, of the kind that went in. ``n_rows``: by default as many as the model stands for."""
        if not hasattr(self, "_synth"):
            raise UsageError("call fit first")
        frame = self._synth.sample(n_rows, kind="pandas")
        if self._transformer is not None:
            return self._transformer.inverse_transform(list(frame.itertuples(index=False, name=None)))
        if issubclass(self._kind, pandas.DataFrame):
            return frame
        return frame.to_numpy() if issubclass(self._kind, numpy.ndarray) else list(frame.itertuples(index=False, name=None))

    def fit_sample(self, data: Any, *ignore: Any, **further: Any) -> Any:
        """Fits, and draws as many records as the model stands for: the private number of records is not read again."""
        self.fit(data, **further)
        return self.sample()


def _columns(rows: Any, schema: Schema) -> Any:
    """A table with names."""
    if isinstance(rows, pandas.DataFrame):
        return rows
    names = list(schema.attributes)
    columns = list(zip(*(rows.tolist() if isinstance(rows, numpy.ndarray) else rows)))
    if len(columns) != len(names):
        raise UsageError(f"the table has {len(columns)} columns, expected {len(names)}: {names}")
    return {name: list(column) for name, column in zip(names, columns)}


def register() -> list[str]:
    """Makes Jointly's mechanisms known to ``snsynth.Synthesizer.create``, and returns their names there.

    Where SmartNoise has a synthesizer of the same name, ours is called ``jointly-NAME``: ``"jam-pgm"``, but ``"jointly-mst"``.

    >>> "jam-pgm" in register(), "jointly-aim" in register()
    (True, True)
    """
    names = []
    for mechanism, entry in _tools.mechanisms().items():
        if not entry["spends"]:
            continue
        word = "".join(part.capitalize() for part in mechanism.replace("+", "-").split("-"))
        place = f"{__name__}.{word}"
        taken = mechanism in base.synth_map and base.synth_map[mechanism]["class"] != place
        name = f"jointly-{mechanism}" if taken else mechanism
        if word not in globals():
            members = {"mechanism": mechanism, "__doc__": f"The mechanism ``{mechanism}``.", "__module__": __name__}
            globals()[word] = type(word, (JointlySynthesizer,), members)
        base.synth_map[name] = {"class": place}
        names.append(name)
    return names
