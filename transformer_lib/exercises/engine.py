"""``check``: hold an answer against an exercise, and say what a beginner can act on."""

import difflib
import inspect
import linecache
import math
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from transformer_lib.exercises import messages, sandbox
from transformer_lib.exercises.catalog import catalog
from transformer_lib.exercises.compare import (
    as_tensor,
    describe,
    kind,
    relation,
    same_gradients,
    same_kind,
    same_outcome,
    same_value,
    two_numbers,
    wrong_entries,
)
from transformer_lib.exercises.data import Case, CheckResult, Exercise, Mistake, Text
from transformer_lib.exercises.sandbox import Outcome, TimeLimitReached, TooManyNumbers

FLOAT32_TOLERANCE = 1e-3


def check(name: str, answer: Any) -> CheckResult:
    """Check an answer to an exercise of the book; print and return what was found.

    Args:
        name: the exercise's name, as in ``check("softmax", my_softmax)``.
        answer: the function asked for; a number for a pencil exercise.

    Returns:
        CheckResult(passed, attempted, message). Nothing an answer does escapes: errors,
        wrong types, exits and endless loops (stopped after 10 seconds) become messages.

    Raises:
        TypeError: the name is not a string.
        ValueError: there is no exercise of that name.
    """
    result = judge(find(name), answer)
    print(result.message)
    return result


def find(name: str) -> Exercise:
    if not isinstance(name, str):
        example = 'check("softmax", my_function)'
        raise TypeError(f"the name comes first, as text: {example}; got {type(name).__name__}")
    if name in catalog:
        return catalog[name]
    near = difflib.get_close_matches(name, catalog, n=1, cutoff=0.4)
    meant = f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(catalog)}"
    raise ValueError(f"there is no exercise named {name!r}; {meant}")


def judge(exercise: Exercise, answer: Any) -> CheckResult:
    """``check`` without printing: the same for any Exercise, in the catalogue or not."""
    if answer is Ellipsis:
        return _not_attempted(exercise)
    if not callable(answer) and not exercise.is_number:
        why = messages.NOT_A_FUNCTION.format(name=exercise.name, kind=type(answer).__name__)
        return _failed(exercise, why)
    function = answer if callable(answer) else lambda: answer  # a number: a function of nothing
    why = _parameters_differ(exercise, function)
    if why:
        return _failed(exercise, why)
    trial = Trial(exercise, function)
    if all(_is_stub(outcome.error) for outcome in trial.got):
        return _not_attempted(exercise)
    why = next(trial.complaints(), None)
    if why:
        return _failed(exercise, why)
    return CheckResult(passed=True, attempted=True, message=str(trial.praise()))


class Trial:
    """One answer, run on all cases of an exercise beside the reference."""

    def __init__(self, exercise: Exercise, answer: Callable):
        self.exercise = exercise
        self.answer = answer
        self.cases = exercise.cases()
        self.has_floats = any(_is_float(arg) for case in self.cases for arg in case.args)
        self.in_float32 = _in_float32(self.cases[0])
        self.expected = self._run(exercise.reference)
        self.got = self._run(answer)

    def _run(self, function: Callable) -> list[Outcome]:
        return sandbox.run(function, [case.args for case in [*self.cases, self.in_float32]])

    def complaints(self) -> Iterator[Text]:
        """What is wrong, the most helpful thing first; nothing if all is right."""
        yield from self._never_ended()
        yield from self._known_mistake()
        yield from self._raised()
        yield from self._wrong_kind()
        yield from self._wrong_dtype("float64", self.got[0].value, self.expected[0].value)
        yield from self._random()
        yield from self._wrong_result()
        yield from self._changed_arguments()
        yield from self._wrong_gradients()
        yield from self._wrong_in_float32()
        yield from self._too_many_numbers()

    def praise(self) -> Text:
        """What a right answer is told: no more than was checked."""
        gradients = self.expected[0].gradients
        text = messages.PASSED if gradients else messages.PASSED_WITHOUT_GRADIENTS
        text = messages.PASSED_NUMBER if self.exercise.is_number else text
        return text.format(name=self.exercise.name, n=len(self.cases))

    def _float64(self) -> Iterator[tuple[Case, Outcome, Outcome]]:
        yield from zip(self.cases, self.got, self.expected, strict=False)  # float32 comes last

    def _never_ended(self) -> Iterator[Text]:
        if any(isinstance(outcome.error, TimeLimitReached) for outcome in self.got):
            yield messages.TIME_LIMIT.format(seconds=sandbox.TIME_LIMIT)

    def _known_mistake(self) -> Iterator[Text]:
        """The hint of the mistake that does in every case just what the answer did."""
        tolerance = self.exercise.tolerance
        right = all(same_outcome(g, e, tolerance) for _, g, e in self._float64())
        if right and all(
            e.gradients is None or same_gradients(g, e, tolerance) for _, g, e in self._float64()
        ):
            return
        for mistake in self.exercise.mistakes:
            if self._does_the_same(mistake, right):
                yield mistake.hint

    def _does_the_same(self, mistake: Mistake, right: bool) -> bool:
        """Whether a mistake ends like the answer in every case, and if that is right, its gradients.

        Case by case, for most mistakes differ in the first already.
        """
        tolerance, only_errors = self.exercise.tolerance, True
        for case, got in zip(self.cases, self.got, strict=False):  # float32 comes last
            made = sandbox.run(mistake.implementation, [case.args], gradients=right)[0]
            if not same_outcome(got, made, tolerance):
                return False
            if right and not same_gradients(got, made, tolerance):
                return False
            only_errors = only_errors and made.error is not None
        return not only_errors  # an error alone says too little

    def _raised(self) -> Iterator[Text]:
        for case, got in zip([*self.cases, self.in_float32], self.got, strict=True):
            if got.error is not None:
                line = _line_of(got.error)
                yield messages.RAISED.format(
                    error=_in_words(got.error),
                    case=case.label,
                    line=messages.AT_LINE.format(line=line) if line else "",
                    arguments=self._arguments(case),
                )

    def _wrong_kind(self) -> Iterator[Text]:
        for _, got, expected in self._float64():
            if got.value is None and not self.exercise.is_number:
                yield messages.NOTHING_RETURNED
            if len(_parts(got.value)) == len(_parts(expected.value)):
                for what, g, e in self._parts(got.value, expected.value):
                    yield from self._kind_differs(what, g, e)
            yield from self._kind_differs(self._whole(), got.value, expected.value)

    def _kind_differs(self, what: Text, got: Any, expected: Any) -> Iterator[Text]:
        if not same_kind(got, expected):
            yield messages.WRONG_KIND.format(
                what=what,
                got=_kind_in_words(got),
                expected=_kind_in_words(expected),
                advice=self._advice(got),
            )

    def _advice(self, got: Any) -> Text | str:
        if isinstance(got, tuple) and len(got) == 1:
            return messages.A_STRAY_COMMA
        array = messages.NO_GRADIENTS_IN_NUMPY if self.has_floats else messages.A_NUMPY_ARRAY
        advice = {"ndarray": array, "list": messages.A_LIST}
        if self.exercise.is_number:
            advice = {"list": messages.NO_BRACKETS, "str": messages.NO_QUOTES}
        return advice.get(type(got).__name__, "")

    def _wrong_dtype(self, inputs: str, got: Any, expected: Any) -> Iterator[Text]:
        given = messages.FOR_INPUTS.format(dtype=inputs) if self.has_floats else ""
        for what, g, e in self._parts(got, expected):
            if isinstance(e, Tensor) and isinstance(g, Tensor) and g.dtype != e.dtype:
                yield messages.WRONG_DTYPE.format(
                    given=given, what=what, got=g.dtype, expected=e.dtype
                )

    def _random(self) -> Iterator[Text]:
        """Whether a wrong answer does not even give the same result each time.

        Several times, since two draws of dropout on a few numbers may well agree.
        """
        tolerance = self.exercise.tolerance
        if same_outcome(self.got[0], self.expected[0], tolerance):
            return
        first, *others = sandbox.run(self.answer, [self.cases[0].args] * 6)
        if not all(same_outcome(first, other, tolerance) for other in others):
            yield messages.RANDOM

    def _wrong_result(self) -> Iterator[Text]:
        tolerance = self.exercise.tolerance
        right = [case.label for case, g, e in self._float64() if same_outcome(g, e, tolerance)]
        for case, got, expected in self._float64():
            for what, g, e in self._parts(got.value, expected.value):
                yield from self._difference(case, what, g, e, right, tolerance)

    def _difference(
        self,
        case: Case,
        what: Text,
        got: Any,
        expected: Any,
        right: list[Text],
        tolerance: float,
    ) -> Iterator[Text]:
        if same_value(got, expected, tolerance):
            return
        if self.exercise.is_number:
            yield messages.WRONG_NUMBER.format(got=got)
            return
        got, expected = as_tensor(got), as_tensor(expected)
        place = {"case": case.label, "what": what}
        if got.shape != expected.shape:
            yield messages.WRONG_SHAPE.format(
                got=tuple(got.shape),
                expected=tuple(expected.shape),
                arguments=self._arguments(case),
                **place,
            )
            return
        wrong = wrong_entries(got, expected, tolerance)
        bad = wrong & ~got.isfinite() & expected.isfinite()
        if bad.any():
            index = bad.nonzero()[0].tolist()
            first = messages.FIRST_AT.format(index=index) if index else ""
            yield messages.NOT_FINITE.format(first=first, **place)
        yield _worst_entry(got, expected, wrong, right, tolerance, place)

    def _changed_arguments(self) -> Iterator[Text]:
        for _, got, _expected in self._float64():
            for position in got.changed:
                yield messages.CHANGED.format(argument=self.exercise.parameters[position])

    def _wrong_gradients(self) -> Iterator[Text]:
        for case, got, expected in self._float64():
            if expected.gradients is None:
                continue
            if got.gradients is None:
                yield _no_gradients(got.gradient_error)
                return
            gradients = zip(
                self.exercise.parameters, got.gradients, expected.gradients, strict=True
            )
            for name, g, e in gradients:
                problem = _gradient_problem(g, e, self.exercise.tolerance)
                if problem:
                    yield messages.WRONG_GRADIENT.format(
                        case=case.label, argument=name, problem=problem
                    )

    def _wrong_in_float32(self) -> Iterator[Text]:
        got, expected = self.got[-1].value, self.expected[-1].value
        yield from self._wrong_dtype("float32", got, expected)
        for what, g, e in self._parts(got, expected):
            yield from self._difference(self.in_float32, what, g, e, [], FLOAT32_TOLERANCE)

    def _too_many_numbers(self) -> Iterator[Text]:
        for case in self.cases:
            if case.largest is None:
                continue
            error = sandbox.run_within(case.largest, self.answer, case.args).error
            if isinstance(error, TooManyNumbers):
                line = _line_of(error)
                yield messages.TOO_MANY_NUMBERS.format(
                    case=case.label,
                    numbers=_count_in_words(error.shape),
                    largest=case.largest,
                    line=messages.AT_THIS_LINE.format(line=line) if line else "",
                )

    def _whole(self) -> Text:
        return messages.THE_ANSWER if self.exercise.is_number else messages.THE_RESULT

    def _parts(self, got: Any, expected: Any) -> Iterator[tuple[Text, Any, Any]]:
        """Each part of a result with its name; a result that is no tuple is its only part."""
        names = self.exercise.results if isinstance(expected, tuple) else ()
        whats = [messages.THE_PART.format(name=name) for name in names] or [self._whole()]
        yield from zip(whats, _parts(got), _parts(expected), strict=True)

    def _arguments(self, case: Case) -> str:
        pairs = zip(self.exercise.parameters, case.args, strict=True)
        return ", ".join(f"{name} {describe(arg)}" for name, arg in pairs)


def _in_float32(case: Case) -> Case:
    args = (arg.float() if _is_float(arg) else arg for arg in case.args)
    return Case(messages.IN_FLOAT32, tuple(args))


def _is_float(arg: Any) -> bool:
    return isinstance(arg, Tensor) and arg.is_floating_point()


def _parameters_differ(exercise: Exercise, function: Callable) -> Text | None:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # a builtin without a signature: the call will tell
        return None
    try:
        signature.bind(*exercise.parameters)
    except TypeError:
        wrong = messages.WRONG_PARAMETERS
    else:
        names = tuple(signature.parameters)
        if names == exercise.parameters or sorted(names) != sorted(exercise.parameters):
            return None
        wrong = messages.PARAMETERS_IN_ANOTHER_ORDER
    return wrong.format(expected=", ".join(exercise.parameters), got=str(signature))


def _worst_entry(
    got: Tensor,
    expected: Tensor,
    wrong: Tensor,
    right: list[Text],
    tolerance: float,
    place: dict[str, Text],
) -> Text:
    """Where the result is furthest off, by what law, and which cases are right already."""
    error = torch.where(wrong, (got - expected).abs().nan_to_num(torch.inf), -1.0)
    index = torch.unravel_index(error.argmax(), error.shape)
    numbers = two_numbers(expected[index], got[index])
    others = messages.OTHERS_RIGHT.format(cases=messages.LIST_SEPARATOR.join(right))
    return messages.WRONG_VALUES.format(
        at=messages.AT_INDEX.format(index=[int(i) for i in index]) if index else "",
        expected=numbers[0],
        got=numbers[1],
        relation=relation(got, expected, tolerance) or "",
        others=others if right else "",
        **place,
    )


def _gradient_problem(got: Tensor | None, expected: Tensor | None, tolerance: float) -> Text | None:
    if expected is None or (got is None and not expected.any()):
        return None
    if got is None:
        return messages.GRADIENT_MISSING
    if got.isnan().any():
        return messages.GRADIENT_NAN
    return None if same_value(got, expected, tolerance) else messages.GRADIENT_DIFFERS


def _no_gradients(error: BaseException | None) -> Text:
    if error is None or "numpy()" in str(error):  # .numpy() refuses what requires a gradient
        return messages.DETACHED
    return messages.BACKWARD_STOPPED.format(error=_in_words(error))


def _kind_in_words(value: Any) -> Text:
    if isinstance(value, tuple):
        return messages.A_TUPLE_OF.format(n=len(value))
    words = {"tensor": messages.A_TENSOR, "number": messages.A_NUMBER}
    return words.get(kind(value), messages.OF_TYPE.format(name=_type_name(value)))


def _type_name(value: Any) -> str:
    """The type, and what is special about a tensor that is not an ordinary one."""
    if not isinstance(value, Tensor):
        return type(value).__name__
    return f"{value.dtype}, {value.layout}, {value.device}"


def _parts(value: Any) -> tuple:
    return value if isinstance(value, tuple) else (value,)


def _is_stub(error: BaseException | None) -> bool:
    """Whether a call met the placeholder ``raise NotImplementedError``: torch's say more."""
    return isinstance(error, NotImplementedError) and not error.args


def _line_of(error: BaseException) -> str:
    """The learner's own line where the error came up: the innermost outside all packages."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = str(Path(__file__).parent.parent)  # the library
    own = [f for f in frames if "site-packages" not in f.filename and ours not in f.filename]
    return linecache.getline(own[-1].filename, own[-1].lineno).strip() if own else ""


def _count_in_words(shape: tuple[int, ...]) -> str:
    """``60 × 64 = 3840``, or ``20`` for a vector."""
    product = " × ".join(map(str, shape))
    return f"{product} = {math.prod(shape)}" if len(shape) > 1 else product


def _in_words(error: BaseException) -> str:
    first_line = next(iter(str(error).splitlines()), "")[:200]
    return f"{type(error).__name__}: {first_line}".rstrip(": .")


def _failed(exercise: Exercise, why: Text) -> CheckResult:
    message = str(messages.FAILED.format(name=exercise.name, why=why))
    return CheckResult(passed=False, attempted=True, message=message)


def _not_attempted(exercise: Exercise) -> CheckResult:
    message = str(messages.NOT_ATTEMPTED.format(name=exercise.name))
    return CheckResult(passed=False, attempted=False, message=message)
