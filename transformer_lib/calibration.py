"""What is fastest on this machine: measured where it is first asked for, and kept for the process.

A choice between ways that compute the same is made once. So whatever is computed with it comes out
the same bit for bit as long as the process lives, however busy the machine is meanwhile.
"""

import threading
from collections.abc import Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from functools import wraps
from time import perf_counter
from typing import TypeVar

Result = TypeVar("Result")


def take_turns(*calls: Callable[[], object], budget: float = 0.2) -> list[list[float]]:
    """Seconds of each call in each turn; in a turn each is called once.

    Whatever else the machine does thus hits all of them alike. A turn before the first, which
    loads what the calls need, is not counted. Three turns at least, then more until ``budget``
    seconds are spent.
    """
    seconds: list[list[float]] = []
    spent, turn = 0.0, -1
    while turn < 3 or spent < budget:
        times = [_seconds(call) for call in calls]
        if turn >= 0:
            seconds.append(times)
            spent += sum(times)
        turn += 1
    return [list(times) for times in zip(*seconds, strict=True)]


def _seconds(call: Callable[[], object]) -> float:
    start = perf_counter()
    call()
    return perf_counter() - start


def once(function: Callable[..., Result]) -> Callable[..., Result]:
    """Compute the result for these arguments once in this process, however many threads ask.

    In a thread of its own, where no mode of the caller holds: neither autocast nor inference mode
    nor a counter of operations. ``forget()`` of what is returned clears the results.
    """
    results: dict[tuple[Hashable, ...], Result] = {}
    lock = threading.Lock()

    @wraps(function)
    def ask(*arguments: Hashable) -> Result:
        with lock:
            if arguments not in results:
                with ThreadPoolExecutor(1) as thread:
                    results[arguments] = thread.submit(function, *arguments).result()
            return results[arguments]

    ask.forget = results.clear
    return ask
