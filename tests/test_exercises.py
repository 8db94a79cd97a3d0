"""The checks are checked: every exercise's mistakes, alternatives and degenerate answers.

All of it follows from the data in ``transformer_lib.exercises``; a new exercise needs no new test.
"""

import importlib
import random
import sys

import numpy as np
import pytest
import torch

from transformer_lib.exercises import catalog, check, sandbox
from transformer_lib.exercises.catalog import index
from transformer_lib.exercises.data import Case, Exercise, Text
from transformer_lib.exercises.engine import judge
from transformer_lib.exercises.families import edited

EXERCISES = list(catalog.values())
FUNCTIONS = [exercise for exercise in EXERCISES if not exercise.is_number]
by_name = pytest.mark.parametrize("exercise", EXERCISES, ids=lambda exercise: exercise.name)
functions = pytest.mark.parametrize("exercise", FUNCTIONS, ids=lambda exercise: exercise.name)


def takes_floats(exercise):
    """Not where all arguments are whole numbers."""
    arguments = exercise.cases()[0].args
    return any(torch.is_tensor(a) and a.is_floating_point() for a in arguments)


def has_gradients(exercise):
    """Whether a gradient flows; not through an answer that is itself a backward pass."""
    outcome = sandbox.run(exercise.reference, [exercise.cases()[0].args])[0]
    return outcome.gradients is not None


def parts(value):
    return value if isinstance(value, tuple) else (value,)


def like(value, make):
    """The same structure as ``value`` with each tensor exchanged for ``make(tensor)``."""
    made = tuple(make(part) for part in parts(value))
    return made if isinstance(value, tuple) else made[0]


def detached(exercise):
    return lambda *args: like(exercise.reference(*args), lambda t: t.detach())


def changes_inputs(exercise):
    def answer(*args):
        value = exercise.reference(*(a.clone() if torch.is_tensor(a) else a for a in args))
        with torch.no_grad():
            next(a for a in args if torch.is_tensor(a)).add_(1)
        return value

    return answer


def in_float32_only(exercise):
    def answer(*args):
        return like(exercise.reference(*args), lambda t: t.float())

    return answer


DEGENERATE = {
    "constant": lambda e: lambda *a: like(e.reference(*a), torch.zeros_like),
    "scalar": lambda e: lambda *a: 0.0,
    "random": lambda e: lambda *a: like(e.reference(*a), lambda t: torch.rand(t.shape)),
    "the first input": lambda e: lambda *a: a[0],
    "the last input": lambda e: lambda *a: a[-1],
    "None": lambda e: lambda *a: None,
    "NumPy": lambda e: lambda *a: like(e.reference(*a), lambda t: t.detach().numpy()),
    "list": lambda e: lambda *a: like(e.reference(*a), lambda t: t.tolist()),
    "a tuple of one": lambda e: lambda *a: (e.reference(*a),),
    "sparse": lambda e: lambda *a: like(e.reference(*a), lambda t: t.to_sparse()),
    "complex": lambda e: lambda *a: like(e.reference(*a), lambda t: t + 1j),
    "on no device": lambda e: lambda *a: like(e.reference(*a), lambda t: t.to("meta")),
    "closes the streams": lambda e: lambda *a: sys.stdin.close() or 0.0,
    "an extra dimension": lambda e: lambda *a: like(e.reference(*a), lambda t: t[None]),
    "one value for all": lambda e: (
        lambda *a: like(e.reference(*a), lambda t: t.mean() if t.ndim else t + 1)
    ),
    "detached": detached,
    "changes its inputs": changes_inputs,
    "always float32": in_float32_only,
    "raises": lambda e: lambda *a: 1 / 0,
    "exits": lambda e: lambda *a: exit(),
    "recursion": lambda e: lambda *a: (lambda f: f(f))(lambda f: f(f)),
    "too few parameters": lambda e: lambda: 0,
    "a value instead of a function": lambda e: e.reference(*e.cases()[0].args),
    "text": lambda e: "softmax",
}
# Faults only where there is something to detach, to change.
ONLY_WHERE = {
    "detached": has_gradients,
    "changes its inputs": takes_floats,
}


def each(kind: str) -> pytest.MarkDecorator:
    """All answers of a kind ("alternatives", "wasteful") that the exercises list."""
    answers = [
        pytest.param(exercise, answer, id=f"{exercise.name}-{number}")
        for exercise in EXERCISES
        for number, answer in enumerate(getattr(exercise, kind))
    ]
    return pytest.mark.parametrize(("exercise", "answer"), answers)


@by_name
def test_the_reference_passes(exercise):
    result = judge(exercise, exercise.reference)
    assert result.passed and result.attempted, result.message


@each("alternatives")
def test_another_right_answer_passes(exercise, answer, record_property):
    record_property("checked", "alternatives")
    result = judge(exercise, answer)
    assert result.passed, result.message


@each("wasteful")
def test_a_right_answer_that_holds_too_much_is_rejected(exercise, answer, record_property):
    record_property("checked", "wasteful answers")
    result = judge(exercise, answer)
    assert not result.passed and result.attempted
    assert "the numbers are right" in result.message and "numbers at once" in result.message


@pytest.mark.parametrize(
    ("exercise", "mistake"),
    [
        pytest.param(exercise, mistake, id=f"{exercise.name}-{mistake.name}")
        for exercise in EXERCISES
        for mistake in exercise.mistakes
    ],
)
def test_a_mistake_gets_its_own_hint(exercise, mistake, record_property):
    record_property("checked", "mistakes")
    result = judge(exercise, mistake.implementation)
    assert not result.passed and result.attempted
    assert result.message == f"✗ {exercise.name}: {mistake.hint.en}"


@pytest.mark.parametrize(
    ("exercise", "kind"),
    [
        pytest.param(exercise, kind, id=f"{exercise.name}-{kind}")
        for exercise in FUNCTIONS
        for kind in DEGENERATE
        if ONLY_WHERE.get(kind, bool)(exercise)
    ],
)
def test_a_degenerate_answer_is_rejected(exercise, kind, record_property):
    record_property("checked", "degenerate answers")
    result = judge(exercise, DEGENERATE[kind](exercise))
    assert not result.passed and result.attempted, result.message


@functions
def test_the_empty_stub_counts_as_not_attempted(exercise, record_property):
    record_property("checked", "degenerate answers")

    def stub(*args):
        raise NotImplementedError

    result = judge(exercise, stub)
    assert not result.passed and not result.attempted


@by_name
def test_dots_count_as_not_attempted(exercise):
    result = judge(exercise, ...)
    assert not result.passed and not result.attempted


@pytest.mark.parametrize("answer", [0.0, -1.0, float("nan"), "five", None, [5], torch.zeros(2)])
@pytest.mark.parametrize(
    "exercise", [e for e in EXERCISES if e.is_number], ids=lambda exercise: exercise.name
)
def test_a_wrong_number_is_rejected(exercise, answer, record_property):
    record_property("checked", "degenerate answers")
    result = judge(exercise, answer)
    assert not result.passed and result.attempted


@by_name
def test_mistakes_have_names_and_hints_of_their_own(exercise):
    names = [mistake.name for mistake in exercise.mistakes]
    hints = [mistake.hint for mistake in exercise.mistakes]
    assert len(set(names)) == len(names) >= 3
    assert len(set(hints)) == len(hints)


@by_name
def test_an_exercise_stands_in_the_file_of_its_name(exercise):
    file = f"chapter_{exercise.chapter:02}.{exercise.name.replace('-', '_')}"
    assert importlib.import_module(f"transformer_lib.exercises.{file}").EXERCISE is exercise


@by_name
def test_cases_are_the_same_at_each_call(exercise):
    for a, b in zip(exercise.cases(), exercise.cases(), strict=True):
        for x, y in zip(a.args, b.args, strict=True):
            assert torch.equal(x, y) if torch.is_tensor(x) else x == y


# --- the engine itself --------------------------------------------------------------------

DOUBLE = Exercise(
    name="double",
    chapter=0,
    title=Text("Double", "兩倍"),
    difficulty=1,
    minutes=1,
    reference=lambda x: 2 * x,
    cases=lambda: [
        Case(Text("a matrix", "矩陣"), (torch.arange(6.0).double().view(2, 3),)),
        Case(Text("a vector", "向量"), (torch.tensor([-1.0, 2.0, 5.0]).double(),)),
    ],
    mistakes=(),
)


def message(answer) -> str:
    result = judge(DOUBLE, answer)
    assert not result.passed
    return result.message


def test_an_endless_loop_is_stopped(monkeypatch):
    monkeypatch.setattr(sandbox, "TIME_LIMIT", 0.2)

    def answer(x):
        while True:
            pass

    assert "did not finish within 0.2 seconds" in message(answer)


def test_an_endless_loop_that_catches_exceptions_is_stopped(monkeypatch):
    monkeypatch.setattr(sandbox, "TIME_LIMIT", 0.2)

    def answer(x):
        while True:
            try:
                x = x + 1
            except Exception:
                continue

    assert "did not finish" in message(answer)


def test_an_error_is_told_with_its_line_and_inputs():
    def answer(x):
        return x @ x

    text = message(answer)
    assert "RuntimeError" in text and "`return x @ x`" in text and "x (2, 3)" in text


def test_the_line_is_told_for_a_module_too():
    class Answer(torch.nn.Module):
        def forward(self, x):
            return x @ x

    assert "`return x @ x`" in message(Answer())


def test_wrong_parameters_are_told():
    assert "must take (x)" in message(lambda: 0)


def test_parameters_in_another_order_are_told():
    result = judge(catalog["attention-scores"], lambda k, q: q @ k.mT)
    assert "in the order (q, k); yours are (k, q)" in result.message


def test_an_error_of_torch_is_not_an_empty_stub():
    class Answer(torch.nn.Module):
        def foward(self, x):  # the method's name has a typing error
            return 2 * x

    result = judge(DOUBLE, Answer())
    assert result.attempted and "forward" in result.message


def test_a_stub_in_one_branch_is_not_an_empty_stub():
    def answer(x):
        if x.ndim == 1:
            raise NotImplementedError
        return 2 * x

    assert judge(DOUBLE, answer).attempted


def test_a_part_of_a_tuple_is_named():
    attention = catalog["scaled-dot-product-attention"]
    without_weights = judge(attention, lambda *a: (attention.reference(*a)[0], None)).message
    assert "“weights” of the result should be a torch tensor" in without_weights


def test_a_stray_comma_is_told():
    assert "comma" in message(lambda x: (2 * x,))


def test_a_buffer_in_float32_is_told():
    def answer(x):
        result = torch.zeros(x.shape)
        result += 2 * x
        return result

    assert "for float64 inputs the result is torch.float32" in message(answer)


def test_without_float_inputs_nothing_is_said_of_float_inputs_or_gradients():
    encoding = catalog["positional-encoding"]
    single = judge(encoding, lambda *args: encoding.reference(*args).float()).message
    array = judge(encoding, lambda *args: encoding.reference(*args).numpy()).message
    assert ": the result is torch.float32; expected torch.float64" in single
    assert "ndarray" in array and "from_numpy" in array and "gradient" not in array


def test_a_random_answer_is_told():
    assert "another result each time" in message(lambda x: torch.nn.functional.dropout(2 * x, 0.5))


def test_a_number_needs_neither_brackets_nor_quotation_marks():
    pencil = catalog["pencil-weights"]
    assert "without brackets" in judge(pencil, [5]).message
    assert "without quotation marks" in judge(pencil, "5").message


def test_two_numbers_are_printed_until_they_differ():
    text = message(lambda x: 2 * x + 1e-5 * (x == 5))
    assert "expected 10, got 10.00001" in text


def test_a_gradient_that_cannot_be_computed_is_told():
    def answer(x):
        y = x.exp()
        z = y.log() * 2
        y *= 1
        return z

    assert "backward() stopped" in message(answer)


@pytest.mark.parametrize("number", [10**400, object(), "2/3", [5], None, True, 5j, (5,)])
def test_odd_numbers_are_answered(number):
    result = judge(catalog["pencil-weights"], number)
    assert not result.passed and result.attempted


@pytest.mark.parametrize("number", [5, 5.0, np.float32(5), np.array(5.0), torch.tensor(5)])
def test_a_number_may_come_in_any_type(number):
    assert judge(catalog["pencil-weights"], number).passed


def test_a_name_that_is_no_text_is_refused(unchecked):
    with pytest.raises(TypeError, match="the name comes first, as text"):
        check(torch.softmax, "softmax")


def test_none_asks_for_return():
    assert "return" in message(lambda x: None)


def test_a_wrong_shape_is_told():
    text = message(lambda x: 2 * x[None])
    assert "(1, 2, 3)" in text and "(2, 3)" in text


def test_a_constant_factor_is_told():
    assert "1.5 times" in message(lambda x: 3 * x)


def test_a_factor_near_1_is_told_with_enough_digits():
    assert "1.00001 times" in message(lambda x: 2.00002 * x)


def test_a_constant_offset_is_told():
    assert "off by 7" in message(lambda x: 2 * x + 7)


def test_a_transpose_is_told():
    square = torch.tensor([[1.0, 2.0], [3.0, 5.0]]).double()
    exercise = Exercise(
        **{**vars(DOUBLE), "cases": lambda: [Case(Text("a square", "方陣"), (square,))]}
    )
    assert "transpose" in judge(exercise, lambda x: 2 * x.mT).message


def test_the_place_and_what_is_already_right_are_told():
    def answer(x):
        y = 2 * x
        return y + torch.tensor([0.0, 0.0, 1.0]) * (x.ndim == 1)

    text = message(answer)
    assert "on a vector" in text and "index [2]" in text and "Already right: a matrix" in text


def test_nan_is_told():
    assert "NaN" in message(lambda x: 2 * x / (x != 0) * 1.0)


def test_a_changed_argument_is_named():
    text = message(lambda x: x.mul_(2).clone())
    assert "changes its argument x" in text


def test_a_cut_graph_is_told():
    assert "cut off" in message(lambda x: 2 * x.detach())


def test_a_wrong_gradient_is_told():
    assert "gradient that reaches x is wrong" in message(lambda x: x + x.detach())


def test_a_gradient_of_nan_is_told():
    text = message(lambda x: 2 * x + (x - x).sqrt().sum())
    assert "NaN" in text


def test_a_wrong_dtype_is_told():
    text = message(lambda x: (2 * x).double())
    assert "float32" in text and "float64" in text


def row_by_row(x):
    return 2 * x[0] + 2 * x[1]


SMALL = Exercise(
    **{
        **vars(DOUBLE),
        "cases": lambda: [
            Case(Text("a matrix", "矩陣"), (torch.arange(6.0).double().view(2, 3),), largest=3)
        ],
        "reference": row_by_row,
    }
)


def test_a_tensor_that_is_too_large_is_told_with_its_line(capsys):
    def answer(x):
        print("here")
        doubled = 2 * x
        return doubled[0] + doubled[1]

    text = judge(SMALL, answer).message
    assert "on a matrix your function works on 2 × 3 = 6 numbers at once" in text
    assert "`doubled = 2 * x`" in text and "At most 3 are allowed" in text
    assert capsys.readouterr().out == "here\n"


def test_a_sum_over_a_tensor_that_is_too_large_is_told():
    assert "2 × 3 = 6 numbers at once" in judge(SMALL, lambda x: 2 * x.sum(0)).message


@pytest.mark.parametrize(
    "view", [lambda x: x, lambda x: x.mT.mT, lambda x: x.flatten().view(2, 3), torch.clone]
)
def test_a_view_holds_nothing_but_a_copy_does(view):
    result = judge(SMALL, lambda x: row_by_row(view(x)))
    assert result.passed == (view is not torch.clone), result.message


def test_what_is_too_large_cannot_be_caught():
    def answer(x):
        try:
            return (2 * x)[0] + (2 * x)[1]
        except Exception:
            return row_by_row(x)

    assert "at once" in judge(SMALL, answer).message


def test_wrong_numbers_come_before_too_many():
    assert "differs" in judge(SMALL, lambda x: (3 * x)[0] + x[1]).message


def test_prints_are_shown_once(capsys):
    def answer(x):
        print("shape", tuple(x.shape))
        return 2 * x

    assert judge(DOUBLE, answer).passed
    assert capsys.readouterr().out == "shape (2, 3)\n"


def test_the_state_of_the_process_is_put_back(unchecked):  # beartype draws from random
    def answer(x):
        torch.manual_seed(3), np.random.seed(3), random.seed(3)  # noqa: NPY002
        torch.set_default_dtype(torch.float16)
        return exit()

    torch.manual_seed(0), np.random.seed(0), random.seed(0)  # noqa: NPY002
    keyboard = sys.stdin
    judge(DOUBLE, answer)
    drawn = torch.rand(1).item(), np.random.rand(), random.random()  # noqa: NPY002
    torch.manual_seed(0), np.random.seed(0), random.seed(0)  # noqa: NPY002
    assert drawn == (torch.rand(1).item(), np.random.rand(), random.random())  # noqa: NPY002
    assert torch.get_default_dtype() == torch.float32
    assert sys.stdin is keyboard and not keyboard.closed


def test_nothing_is_praised_that_was_not_checked():
    assert "gradients" in judge(DOUBLE, DOUBLE.reference).message
    count = catalog["parameter-count"]
    assert "gradients" not in judge(count, count.reference).message


def test_a_number_that_differs_has_no_index():
    text = judge(catalog["parameter-count"], lambda config: 3).message
    assert "got 3" in text and "index" not in text


def test_nan_is_told_with_its_place_where_there_are_several():
    text = judge(catalog["softmax"], lambda x, dim: x.softmax(dim) * torch.nan).message
    assert "NaN or infinity, which is not expected there, first at index [0" in text
    double = Exercise(**vars(DOUBLE) | {"reference": lambda x: 2 * x.sum()})
    assert "which is not expected there." in judge(double, lambda x: x.sum() * torch.nan).message


def test_it_works_where_gradients_are_off():
    with torch.no_grad():
        assert judge(DOUBLE, DOUBLE.reference).passed


def test_two_exercises_of_one_name_are_refused():
    with pytest.raises(ValueError, match="two exercises are called 'double'"):
        index([DOUBLE, catalog["softmax"], DOUBLE])


def test_check_prints_and_returns(capsys):
    result = check("softmax", torch.softmax)
    assert result.passed
    assert capsys.readouterr().out == result.message + "\n"


def test_an_unknown_name_is_refused_with_a_suggestion():
    with pytest.raises(ValueError, match="did you mean 'softmax'"):
        check("sofmax", torch.softmax)


def test_messages_come_in_chinese_when_asked(monkeypatch):
    monkeypatch.setenv("BOOK_LANGUAGE", "zh-TW")
    assert "答對了" in judge(DOUBLE, DOUBLE.reference).message
    assert "1.5 倍" in message(lambda x: 3 * x)
    assert "參數 dim 沒有用到" in judge(catalog["softmax"], lambda x, dim: x.softmax(-1)).message


def plus_one(x):
    return x + 1


def test_an_edit_of_a_right_answer():
    assert edited(plus_one, "+ 1", "- 1")(5) == 4
    assert plus_one(5) == 6


@pytest.mark.parametrize("piece", ["nowhere", "x"])
def test_an_edit_must_have_one_place(piece):
    with pytest.raises(ValueError, match=f"plus_one has '{piece}' . times, not once"):
        edited(plus_one, piece, "y")
