"""Fixtures for all tests, and the counts that the exercise tests report at the end."""

from collections import Counter

import jaxtyping
import pytest
import torch

# The tests' matrices are tiny: threads that wait for each other cost far more than they bring.
torch.set_num_threads(1)


def pytest_addoption(parser):
    parser.addoption(
        "--only-exercises", metavar="NAMES", help="test these exercises alone, split by commas"
    )


def pytest_collection_modifyitems(config, items):
    names = config.getoption("only_exercises")
    if names is not None:
        left_out = [item for item in items if _exercise_of(item) not in {None, *names.split(",")}]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]


def _exercise_of(item):
    """The name of the exercise that a test is about, if it is about one."""
    parameters = item.callspec.params if hasattr(item, "callspec") else {}
    return getattr(parameters.get("exercise"), "name", None)


@pytest.fixture
def unchecked():
    """Switch the shape checks of the test run off: what users get is the library's own errors."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


def pytest_terminal_summary(terminalreporter):
    """How many wrong, alternative and degenerate answers the exercises' checks were tried on."""
    checked = Counter(
        value
        for report in terminalreporter.getreports("passed")
        for key, value in report.user_properties
        if key == "checked" and report.when == "call"
    )
    if checked:
        counts = ", ".join(f"{number} {kind}" for kind, number in sorted(checked.items()))
        terminalreporter.write_line(f"exercise checks tried on: {counts}")
