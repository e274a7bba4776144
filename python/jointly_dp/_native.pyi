"""The native module: thin classes over the Rust library, with JSON for everything that is not a table. Not public."""

from collections.abc import Callable, Sequence
from typing import Any, final

__version__: str
__all__ = [
    "CountPlan",
    "Counter",
    "FittedTables",
    "Given",
    "Model",
    "PrivateRows",
    "Release",
    "Rows",
    "Schema",
    "Thresholds",
    "__version__",
    "answer",
    "bins",
    "budget",
    "columns",
    "compare",
    "compare_run",
    "evaluate",
    "evaluation_settings",
    "files_of",
    "fit",
    "fit_measurements",
    "fit_settings",
    "fit_tables",
    "ledger",
    "mechanisms",
    "mixture_error",
    "plan",
    "set_threads",
    "settings",
    "thresholds",
    "trust",
    "tune",
    "write_csv",
]

@final
class Schema:
    @staticmethod
    def from_json(text: str, place: str) -> Schema: ...
    @staticmethod
    def read(path: str) -> Schema: ...
    @staticmethod
    def draft(
        tables: Sequence[str], document: str | None, decimal: str | None, dates: str | None
    ) -> tuple[Schema, str]: ...
    def to_json(self) -> str: ...
    def to_sdv_metadata(self) -> str: ...
    def attributes(self) -> list[tuple[str, int]]: ...
    def values(self, name: str) -> list[str]: ...
    def select(self, names: Sequence[str]) -> Schema: ...
    def with_unlikely(self, public: Sequence[str]) -> Schema: ...
    def with_unlikely_members(
        self, public: Sequence[str], unit: str, most: int, members: Sequence[str], order: str
    ) -> Schema: ...
    def with_weight(self, name: str, public: Sequence[str]) -> Schema: ...

@final
class PrivateRows:
    @staticmethod
    def read(
        schema: Schema,
        table: Any,
        name: str,
        neighbors: str = "replace-one",
        unit: tuple[str, int, str] | None = None,
        together: str = "{}",
    ) -> PrivateRows: ...
    @staticmethod
    def of_counter(counter: Counter) -> PrivateRows: ...

@final
class CountPlan:
    attributes: list[str]
    cells: int
    cliques: list[list[str]]
    @staticmethod
    def of_job(schema: Schema, settings: str) -> CountPlan: ...
    @staticmethod
    def from_json(text: str) -> CountPlan: ...
    def to_json(self) -> str: ...
    def counter(self) -> Counter: ...

@final
class Counter:
    records: int
    def update(self, table: Any) -> None: ...
    def merge(self, state: bytes) -> None: ...
    def state(self) -> bytes: ...
    def write(self, path: str, name: str, overwrite: bool, as_public: bool = False) -> None: ...

@final
class Rows:
    @staticmethod
    def read(
        schema: Schema,
        table: Any,
        name: str,
        unit: tuple[str, int, str] | None = None,
        together: str = "{}",
    ) -> Rows: ...

@final
class Given:
    @staticmethod
    def read(schema: Schema, table: Any, name: str, keep: Sequence[str], unit: str | None = None) -> Given: ...

@final
class Model:
    schema: Schema
    total: float
    records: int
    size_mib: float
    mechanism: str
    is_private: bool
    conditional_on: list[str]
    @staticmethod
    def read(path: str) -> Model: ...
    @staticmethod
    def from_json(text: str) -> Model: ...
    def to_json(self) -> str: ...
    def write(self, path: str, overwrite: bool) -> None: ...
    def sample(
        self,
        records: int,
        seed: int | None = None,
        given: str | None = None,
        refined: bool = True,
        in_blocks: bool = True,
        labels: bool = False,
    ) -> Any: ...
    def sample_to(
        self,
        path: str,
        records: int,
        overwrite: bool,
        seed: int | None = None,
        given: str | None = None,
        refined: bool = True,
    ) -> None: ...
    def marginal(self, names: Sequence[str]) -> tuple[list[int], list[float]]: ...
    def factors(self) -> list[tuple[list[str], list[float], list[float]]]: ...
    def posterior(self, columns: Sequence[str], tables: int, seed: int | None = None) -> list[Any]: ...
    def combine(
        self,
        released: Any,
        replicates: Sequence[Any],
        asked: str,
        population: bool = False,
        posterior: int | None = None,
        seed: int | None = None,
    ) -> str: ...
    def having(self, questions: Sequence[str], given: str | None) -> str: ...
    def ask(self, questions: str, by: Sequence[str], given: str | None = None, together: bool = False) -> str: ...

@final
class Thresholds:
    @staticmethod
    def from_json(text: str, place: str) -> Thresholds: ...
    def to_json(self) -> str: ...
    def answer(self, question: str, nearest: bool) -> tuple[float, float, float]: ...
    def quantile(self, column: str, p: float) -> tuple[float, float, float]: ...

@final
class Release:
    model: Model
    usual_records: int
    def ledger(self) -> str: ...
    def measurements(self) -> str: ...
    def released(self, labels: bool = False) -> Any: ...
    def replicates(self, number: int, listener: Callable[[str], object] | None = None) -> list[Any]: ...
    def report(self, path: str, rows: int, overwrite: bool) -> None: ...

def fit(
    schema: Schema,
    settings: str,
    label: str,
    overwrite: bool,
    private: PrivateRows,
    public: Sequence[tuple[str, Rows]],
    complete: Given | None,
    keep: Callable[[Release], object],
    listener: Callable[[str], object] | None = None,
) -> None: ...
@final
class FittedTables:
    @property
    def model(self) -> Model: ...
    def summary(self) -> str: ...
    def tidy(self) -> str: ...
    def report(self, path: str, overwrite: bool) -> None: ...
    def sample(
        self, records: int, seed: int | None = None, refined: bool = True, labels: bool = False
    ) -> tuple[Any, float | None]: ...
    def weighted(self, seed: int | None = None, labels: bool = False) -> Any: ...

def fit_settings() -> str: ...
def write_csv(schema: Schema, table: Any, path: str) -> None: ...
def fit_tables(schema: Schema, settings: str) -> FittedTables: ...
def fit_measurements(
    schema: Schema,
    measurements: Sequence[tuple[Sequence[str], Sequence[float], float, Sequence[float] | None]],
    total: float | None = None,
    iterations: int = 1000,
    is_private: bool = False,
    tolerance: float | None = None,
    warm_start: Sequence[tuple[Sequence[str], Sequence[float]]] = ...,
) -> tuple[Model, str]: ...
def budget(epsilon: float, delta: float | None = None) -> float: ...
def ledger(text: str) -> tuple[float, float, bool]: ...
def mechanisms() -> str: ...
def settings() -> str: ...
def plan(
    schema: Schema,
    mechanism: str,
    parameters: str,
    epsilon: float,
    delta: float,
    workload: str,
    max_cells: int | None,
    neighbors: str,
    records: int,
) -> str: ...
def evaluation_settings() -> str: ...
def evaluate(
    schema: Schema, real: Any, synthetic: Any, settings: str, report: str | None = None, overwrite: bool = False
) -> str: ...
def trust(
    schema: Schema,
    private: PrivateRows,
    public: Sequence[tuple[str, Rows]],
    asked: str,
) -> str: ...
def bins(schema: Schema, private: Any, asked: str) -> str: ...
def answer(schema: Schema, private: PrivateRows, asked: str) -> str: ...
def mixture_error(
    schema: Schema, public: Rows, asked: str, private: PrivateRows | None = None, real: Rows | None = None
) -> str: ...
def tune(
    schema: Schema,
    stand_in: Rows,
    public: Sequence[tuple[str, Rows]],
    asked: str,
) -> str: ...
def compare(
    protocol: str,
    out: str,
    asked: str,
    program: Sequence[str],
    told: Callable[[str], object] | None = None,
) -> str: ...
def compare_run(cell: str) -> str: ...
def thresholds(private: Any, public: Sequence[Any], asked: str) -> Thresholds: ...
def columns(table: Any) -> list[tuple[str, bool, list[Any]]]: ...
def files_of(path: str) -> list[str]: ...
def set_threads(threads: int) -> None: ...
