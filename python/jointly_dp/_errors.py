"""Exceptions, one for each kind of failure."""

from __future__ import annotations


class JointlyError(Exception):
    """Anything that goes wrong in this package; by itself, a file that cannot be read or written, or an internal error.

    ``facts`` has what the message says as named texts, such as ``row`` and ``column``. It may be empty.

    >>> import jointly_dp as jd
    >>> try:
    ...     jd.rho(-1.0, 1e-6)
    ... except jd.JointlyError as error:
    ...     print(type(error).__name__, error.facts["found"])
    PrivacyError -1
    """

    facts: dict[str, str]

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.facts = {}


class InputError(JointlyError, ValueError):
    """A file or a table that is not valid, or a request for what it does not have or allow."""


class UsageError(InputError):
    """A parameter that is unknown, out of range, or contradicts another one, whatever the tables hold."""


class TooLarge(InputError):
    """Something would be larger than a limit allows."""


class PrivacyError(JointlyError):
    """A privacy budget that is out of range, too small for what it must pay for, or used up."""


class BudgetExceeded(PrivacyError):
    """A charge that exceeds what is left of the budget. Nothing was spent."""


class ForkError(JointlyError, RuntimeError):
    """A call in a process that was forked after its parent had used this package: the parent's threads are not in it.

    Start such processes with ``multiprocessing.get_context("spawn")``.
    """


class CheckpointError(JointlyError):
    """A checkpoint that cannot be resumed."""
