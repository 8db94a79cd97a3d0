"""How long does a learner wait for `check`? `python benchmarks/exercise_checks.py`

Prints, for each exercise, the median seconds of a right answer and of the slowest mistake (a
wrong answer is compared with the known mistakes, which takes longer). The book promises 1 s.
"""

from statistics import median
from time import perf_counter

from transformer_lib.exercises import Exercise, catalog
from transformer_lib.exercises.engine import judge


def seconds(exercise: Exercise, answer: object, times: int = 5) -> float:
    def once() -> float:
        start = perf_counter()
        judge(exercise, answer)
        return perf_counter() - start

    return median(once() for _ in range(times))


def main() -> None:
    print(f"{'exercise':30} {'right':>8} {'wrong':>8}")
    for name, exercise in catalog.items():
        right = seconds(exercise, exercise.reference)
        wrong = max(seconds(exercise, mistake.implementation) for mistake in exercise.mistakes)
        print(f"{name:30} {right:8.3f} {wrong:8.3f}")


if __name__ == "__main__":
    main()
