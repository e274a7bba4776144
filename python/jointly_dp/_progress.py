"""Progress: the events of a run as frozen dataclasses, with the members of the command line's JSON log."""

from __future__ import annotations

import json
import logging
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

logger = logging.getLogger("jointly_dp")


@dataclass(frozen=True)
class Event:
    """What happened. Every number was paid for, or comes from public tables or the model.

    The exception is a :class:`Notice` that a public table has the rows of the private one. It depends on the private
    rows: do not publish it.
    """


@dataclass(frozen=True)
class FittingPublicTables(Event):
    """A model of the public tables is fitted, before the rounds begin."""

    mechanism: str


@dataclass(frozen=True)
class Started(Event):
    """The records were counted and the rounds begin. ``cliques``: how many may be measured."""

    mechanism: str
    rounds: int
    first_round: int
    cliques: int
    rho_limit: float


@dataclass(frozen=True)
class Scored(Event):
    """A round's candidates were scored; ``exact`` and ``sampled``: how the model's marginals were found."""

    round: int
    candidates: int
    exact: int
    sampled: int


@dataclass(frozen=True)
class Measured(Event):
    """A marginal was observed. ``source``: the name of the public table it comes from, or ``None`` for the private one."""

    round: int
    rounds: int
    clique: tuple[str, ...]
    source: str | None
    stddev: float
    rho_spent: float
    rho_limit: float


@dataclass(frozen=True)
class Fitted(Event):
    """The model was fitted to all measurements. ``fit``: what the fit came to; its members depend on the mechanism."""

    round: int
    fit: dict[str, Any]


@dataclass(frozen=True)
class Certified(Event):
    """The last fit was compared with the best possible one."""

    certificate: dict[str, Any]


@dataclass(frozen=True)
class Notice(Event):
    """Something that the caller should know, and that does not end the run."""

    text: str
    is_warning: bool
    spent: bool
    """Whether it says what a failed run has spent."""


Progress = bool | Callable[[Event], object]


def event_of(text: str) -> Event | None:
    """The event in a line of JSON; ``None`` for kinds that this version does not know.

    >>> event_of('{"event": "scored", "round": 1, "candidates": 5, "exact": 4, "sampled": 1}')
    Scored(round=1, candidates=5, exact=4, sampled=1)
    """
    facts = json.loads(text)
    name = facts.pop("event")
    if name == "fitting-public-tables":
        return FittingPublicTables(**facts)
    if name == "started":
        return Started(**facts)
    if name == "scored":
        return Scored(**facts)
    if name == "measured":
        facts["clique"] = tuple(facts["clique"])
        facts["source"] = facts["source"].get("table")
        return Measured(**facts)
    if name == "fitted":
        return Fitted(**facts)
    if name == "certified":
        return Certified(facts)
    if name == "notice":
        return Notice(**facts)
    return None


class Listener:
    """Passes the events of one run on, and remembers what a failed run says about its spending."""

    def __init__(self, progress: Progress) -> None:
        self.spending: list[str] = []
        self.show: Callable[[Event], object] | None = None
        self.bar: Any = None
        if callable(progress):
            self.show = progress
        elif progress:
            self.show = self._shown

    def __call__(self, text: str) -> None:
        event = event_of(text)
        if event is None:
            return
        logger.debug("%s", event)
        if isinstance(event, Notice):
            if event.spent:
                self.spending.append(event.text)
            elif event.is_warning:
                warnings.warn(event.text, stacklevel=6)
        if self.show is not None:
            try:
                self.show(event)
            except BaseException:
                # It has failed once: what follows is about what was spent.
                self.show = None
                raise

    def _shown(self, event: Event) -> None:
        if isinstance(event, Started):
            self.bar = _bar(event)
        if self.bar is not None and isinstance(event, Measured):
            self.bar.total = max(event.rounds, event.round)
            self.bar.update(event.round - self.bar.n)
            self.bar.set_postfix_str(described(event))
        elif isinstance(event, Measured):
            print(f"round {event.round} of {event.rounds}: {described(event)}", file=sys.stderr)
        elif isinstance(event, FittingPublicTables) and self.bar is None:
            print(f"{event.mechanism}: fitting the public tables", file=sys.stderr)

    def close(self) -> None:
        if self.bar is not None:
            self.bar.close()


def described(event: Measured) -> str:
    """A measurement in a few words.

    >>> described(Measured(1, 9, ("age", "sex"), None, 12.3, 0.25, 1.0))
    'age x sex, private, noise 12.3; 25% spent'
    """
    source = f"private, noise {event.stddev:.3g}" if event.source is None else f"public ({event.source})"
    share = event.rho_spent / event.rho_limit if event.rho_limit else 0.0
    return f"{' x '.join(event.clique)}, {source}; {share:.0%} spent"


def _bar(event: Started) -> Any:
    """A bar of tqdm, if it is installed."""
    try:
        from tqdm.auto import tqdm
    except ImportError:
        print(f"{event.mechanism}: {event.rounds} rounds, {event.cliques} cliques", file=sys.stderr)
        return None
    return tqdm(total=event.rounds, initial=event.first_round - 1, desc=event.mechanism, unit="round")
