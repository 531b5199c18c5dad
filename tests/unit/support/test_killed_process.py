"""The steps at which tests kill a process."""

from tests.support.killed_process import is_taken

STEPS = range(1, 301)


def test_about_a_third_of_the_steps_are_taken_and_always_the_same():
    taken = [step for step in STEPS if is_taken("test_upkeep[folder]", step)]

    assert 80 <= len(taken) <= 120
    assert taken == [step for step in STEPS if is_taken("test_upkeep[folder]", step)]


def test_steps_of_every_kind_are_taken_for_any_period():
    taken = {step for step in STEPS if is_taken("test_upkeep[folder]", step)}

    for period in range(2, 8):
        assert {step % period for step in taken} == set(range(period))


def test_steps_differ_by_parameter():
    folder, bucket = (
        {step for step in STEPS if is_taken(f"test_upkeep[{place}]", step)}
        for place in ("folder", "s3")
    )

    assert len(folder - bucket) > 40
