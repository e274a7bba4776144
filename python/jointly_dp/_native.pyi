"""The native module: thin classes over the Rust library, with JSON for everything that is not a table. Not public."""

from collections.abc import Callable, Sequence
from typing import Any, final

__version__: str

@final
class Schema:
    @staticmethod
    def from_json(text: str, place: str) -> Schema: ...
    @staticmethod
    def read(path: str) -> Schema: ...
    @staticmethod
    def draft(tables: Sequence[str], document: str | None) -> tuple[Schema, str]: ...
    def to_json(self) -> str: ...
    def to_sdv_metadata(self) -> str: ...
    def attributes(self) -> list[tuple[str, int]]: ...
    def values(self, name: str) -> list[str]: ...
    def select(self, names: Sequence[str]) -> Schema: ...
    def with_weight(self, name: str, public: Sequence[str]) -> Schema: ...

@final
class PrivateRows:
    @staticmethod
    def read(
        schema: Schema,
        table: Any,
        name: str,
        neighbors: str = "replace-one",
        unit: tuple[str, int] | None = None,
    ) -> PrivateRows: ...

@final
class Rows:
    @staticmethod
    def read(schema: Schema, table: Any, name: str) -> Rows: ...

@final
class Model:
    schema: Schema
    total: float
    records: int
    size_mib: float
    mechanism: str
    is_private: bool
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
    def ask(self, questions: str, by: Sequence[str], given: str | None = None) -> str: ...

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
    def report(self, path: str, rows: int, overwrite: bool) -> None: ...

def fit(
    schema: Schema,
    settings: str,
    label: str,
    overwrite: bool,
    private: PrivateRows,
    public: Sequence[tuple[str, Rows]],
    keep: Callable[[Release], object],
    listener: Callable[[str], object] | None = None,
) -> None: ...
def fit_measurements(
    schema: Schema,
    measurements: Sequence[tuple[Sequence[str], Sequence[float], float, Sequence[float] | None]],
    total: float | None = None,
    iterations: int = 1000,
    is_private: bool = False,
    tolerance: float | None = None,
    warm_start: Sequence[tuple[Sequence[str], Sequence[float]]] = (),
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
    workload: str,
    epsilon: float,
    delta: float,
    neighbors: str,
    unit: tuple[str, int] | None = None,
    noise_seed: int | None = None,
) -> str: ...
def tune(
    schema: Schema,
    stand_in: Rows,
    public: Sequence[tuple[str, Rows]],
    asked: str,
) -> str: ...
def thresholds(private: Any, public: Sequence[Any], asked: str) -> Thresholds: ...
def columns(table: Any) -> list[tuple[str, bool, list[Any]]]: ...
def set_threads(threads: int) -> None: ...
