"""What is measured once: by whom it is asked for, and what it is measured beside."""

from concurrent.futures import ThreadPoolExecutor
from itertools import count
from time import sleep

import pytest
import torch

from transformer_lib import calibration
from transformer_lib.calibration import once, take_turns


def test_it_is_computed_once_however_many_threads_ask():
    computed = []

    @once
    def slow(key):
        sleep(0.05)
        computed.append(key)
        return object()

    with ThreadPoolExecutor(8) as threads:
        results = list(threads.map(slow, [1] * 8))
    assert computed == [1] and len(set(results)) == 1
    assert slow(2) is not slow(1) and computed == [1, 2]


def test_it_is_computed_out_of_sight_of_the_modes_of_the_caller():
    @once
    def modes():
        return torch.is_grad_enabled(), torch.is_inference_mode_enabled()

    with torch.inference_mode():
        assert modes() == (True, False)


def test_what_fails_is_asked_again():
    answers = [1]

    @once
    def moody():
        return answers.pop()[0] if answers else 7

    with pytest.raises(TypeError):
        moody()
    assert moody() == 7


def test_calls_take_turns_and_the_first_turn_does_not_count():
    called = []
    times = take_turns(lambda: called.append("a"), lambda: called.append("b"), budget=0.0)
    assert called == ["a", "b"] * 4
    assert [len(seconds) for seconds in times] == [3, 3]


def test_there_are_as_many_turns_as_the_budget_lasts(monkeypatch):
    monkeypatch.setattr(calibration, "perf_counter", count(0.0).__next__)  # a second for each call
    assert take_turns(lambda: None, lambda: None, budget=9.0) == [[1.0] * 5, [1.0] * 5]
