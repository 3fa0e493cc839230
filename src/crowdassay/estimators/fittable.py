"""What all models of the package share, whatever they are fitted to: parameters by name, and a fit that is there or not."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from html import escape
from pathlib import Path
from typing import Any, ClassVar, Generic, Self, TypeVar

import pyarrow as pa

from crowdassay.errors import NotFittedError, ParameterError
from crowdassay.labels.frames import to_frame

Data = TypeVar("Data")


@dataclasses.dataclass(kw_only=True, eq=False, repr=False)
class Fittable:
    """A model with scikit-learn's conventions and nothing else.

    A subclass is a dataclass whose fields are its parameters. The constructor only stores them; `get_params`, `set_params`
    and cloning work; what a fit finds ends in an underscore. It knows nothing of what the model is fitted to: labels
    (`crowdassay.estimators.base.Estimator`), ratings or comparisons.

    Examples
    --------
    >>> @dataclasses.dataclass(kw_only=True, eq=False, repr=False)
    ... class Mean(Fittable):
    ...     weight: float = 1.0
    >>> Mean(weight=2.0).set_params(weight=3.0)
    Mean(weight=3.0)
    >>> Mean()._fitted()
    Traceback (most recent call last):
    crowdassay.errors.NotFittedError: This Mean has not been fitted; call fit(labels) first.
    """

    fit_leaves: ClassVar[str] = "result_"
    """The attribute that a fit leaves behind; without it the model has not been fitted."""
    fitted_to: ClassVar[str] = "labels"
    """What `fit` takes, for the sentence that says that it has not been called."""

    def _fitted(self) -> Any:
        """Return what the fit has left behind."""
        if self.fit_leaves not in self.__dict__:
            raise NotFittedError(f"This {type(self).__name__} has not been fitted; call fit({self.fitted_to}) first.")
        return self.__dict__[self.fit_leaves]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}

    def set_params(self, **parameters: object) -> Self:
        """Change parameters by name."""
        known = self.get_params()
        for name, value in parameters.items():
            if name not in known:
                raise ParameterError(f"{type(self).__name__} has no parameter '{name}'; it has {', '.join(known)}.")
            setattr(self, name, value)
        return self

    def _card(self) -> str:
        """Return the HTML that a notebook shows below the name of a fitted model."""
        found = self._fitted()
        return str(found._repr_html_()) if hasattr(found, "_repr_html_") else ""

    def _repr_html_(self) -> str:
        return f"<code>{escape(repr(self))}</code>" + (self._card() if self.fit_leaves in self.__dict__ else "")

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import InputTags, Tags, TargetTags  # noqa: PLC0415  only scikit-learn asks

        data = InputTags(string=True, categorical=True, allow_nan=True)
        return Tags(None, TargetTags(required=False), None, None, None, input_tags=data)

    def __repr__(self) -> str:
        changed = [
            f"{field.name}={getattr(self, field.name)!r}"
            for field in dataclasses.fields(self)
            if repr(getattr(self, field.name)) != repr(field.default)
        ]
        return f"{type(self).__name__}({', '.join(changed)})"


@dataclasses.dataclass(kw_only=True, eq=False, repr=False)
class FittableStudy(Fittable, Generic[Data]):
    """A study: fitted to other things than labels, saved as what it was fitted to and what the fit found."""

    saved_as: ClassVar[tuple[type, type]]
    """The dataclasses of the data and of the fit."""

    def _refuse_reading(self, reading: Iterable[str]) -> None:
        """Refuse options that say how to read what is read already."""
        for name in reading:
            raise ParameterError(f"{name} says how to read {self.fitted_to}, and these are read already; leave it out.")

    def _fitted(self) -> Data:
        data: Data = super()._fitted()
        return data

    def _frame(self, table: pa.Table) -> Any:
        """Return a table as the kind of frame that the data came in."""
        return to_frame(table, super()._fitted().frame)

    def save(self, folder: str | Path) -> None:
        """Write the fitted model to a folder, from which `crowdassay.load_model` reads it."""
        from crowdassay.results.saved.study import save_study  # noqa: PLC0415  seldom needed

        save_study(self, folder)

    def _saved(self) -> tuple[Any, Any]:
        """Return the data and the fit."""
        return self._fitted(), self.__dict__["_fit"]

    def _restore(self, data: Any, fit: Any) -> Self:
        """Take over the data and the fit; ValueError where they do not belong together."""
        raise NotImplementedError
