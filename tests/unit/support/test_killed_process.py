"""At which steps tests kill a process."""

from tests.support.killed_process import is_taken

STEPS = range(1, 301)


def test_a_test_takes_about_a_third_of_the_steps_and_always_the_same():
    taken = [step for step in STEPS if is_taken("test_upkeep[folder]", step)]

    assert 80 <= len(taken) <= 120
    assert taken == [step for step in STEPS if is_taken("test_upkeep[folder]", step)]


def test_steps_of_any_kind_are_taken_whatever_the_period_in_which_kinds_repeat():
    taken = {step for step in STEPS if is_taken("test_upkeep[folder]", step)}

    for period in range(2, 8):
        assert {step % period for step in taken} == set(range(period))


def test_the_same_test_on_another_place_takes_other_steps():
    folder, bucket = (
        {step for step in STEPS if is_taken(f"test_upkeep[{place}]", step)}
        for place in ("folder", "s3")
    )

    assert len(folder - bucket) > 40
