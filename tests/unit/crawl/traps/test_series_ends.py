from aragog.crawl.traps.series_ends import MAX_SERIES, SeriesEnds

LIST = "https://www.example.org/list?page="


def test_numbers_above_two_useless_pages_are_beyond_the_end():
    ends = SeriesEnds()
    ends.note(f"{LIST}3", is_useful=True)
    for number in (4, 5):
        ends.note(f"{LIST}{number}", is_useful=False)

    assert ends.is_beyond(f"{LIST}6")
    assert not ends.is_beyond(f"{LIST}2")
    assert not ends.is_beyond("https://www.example.org/other?page=6")


def test_one_empty_page_ends_a_series():
    ends = SeriesEnds()
    ends.note(f"{LIST}3", is_useful=True)
    ends.note(f"{LIST}4", is_useful=False, is_empty=True)

    assert ends.is_beyond(f"{LIST}5")


def test_a_useful_page_with_a_higher_number_withdraws_the_end():
    ends = SeriesEnds()
    for number, is_useful in ((1, True), (2, False), (3, False), (9, True)):
        ends.note(f"{LIST}{number}", is_useful=is_useful)

    assert not ends.is_beyond(f"{LIST}5")


def test_series_are_bounded():
    ends = SeriesEnds()
    for number in range(2 * MAX_SERIES):
        ends.note(f"https://www.example.org/{'a' * number}/1", is_useful=True)

    assert len(ends.known) == MAX_SERIES
