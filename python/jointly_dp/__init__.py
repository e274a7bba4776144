"""Differentially private synthetic tables, with the help of public tables.

>>> import jointly_dp as jd
>>> schema = jd.Schema({"sex": 2, "age": 4})
>>> people = {"sex": [0, 1, 1, 0] * 100, "age": [3, 1, 2, 2] * 100}
>>> synth = jd.Synthesizer(schema, epsilon=1.0, delta=1e-6, mechanism="independent")
>>> synth = synth.fit(people)
>>> table = synth.sample(50)
>>> table.num_rows, synth.release_.is_private
(50, True)
"""

from ._compare import Comparison, compare
from ._counts import Counter, CountPlan
from ._errors import (
    BudgetExceeded,
    CheckpointError,
    ForkError,
    InputError,
    JointlyError,
    PrivacyError,
    TooLarge,
    UsageError,
)
from ._fit import FittedTables, fit_tables
from ._model import Answer, AnswerParts, AnswerRow, Fit, Measurement, Model, fit
from ._native import __version__
from ._progress import Certified, Event, Fitted, FittingPublicTables, Measured, Notice, Scored, Started
from ._release import Ledger, Release
from ._schema import Schema, Workload
from ._synthesizer import Synthesizer
from ._thresholds import Bracket, Thresholds, thresholds
from ._tools import (
    PaidBins,
    answer,
    bins,
    evaluate,
    evaluation_settings,
    mechanisms,
    mixture_error,
    rho,
    set_threads,
    settings,
    trust,
    tune,
)

__all__ = [
    "Answer",
    "AnswerParts",
    "AnswerRow",
    "Bracket",
    "BudgetExceeded",
    "Certified",
    "CheckpointError",
    "Comparison",
    "CountPlan",
    "Counter",
    "Event",
    "Fit",
    "Fitted",
    "FittedTables",
    "FittingPublicTables",
    "ForkError",
    "InputError",
    "JointlyError",
    "Ledger",
    "Measured",
    "Measurement",
    "Model",
    "Notice",
    "PaidBins",
    "PrivacyError",
    "Release",
    "Schema",
    "Scored",
    "Started",
    "Synthesizer",
    "Thresholds",
    "TooLarge",
    "UsageError",
    "Workload",
    "__version__",
    "answer",
    "bins",
    "compare",
    "evaluate",
    "evaluation_settings",
    "fit",
    "fit_tables",
    "mechanisms",
    "mixture_error",
    "rho",
    "set_threads",
    "settings",
    "thresholds",
    "trust",
    "tune",
]
