"""Opening hours in the markup of places: closed days, and days in other languages."""

from __future__ import annotations

import pytest
from pins import ld, pin


def hours(**properties: object) -> tuple[str, ...]:
    """The opening hours of a place with these properties."""
    return pin(ld({"@type": "Bakery", "name": "C", **properties})).place.opening_hours


def specification(days: object, opens: str, closes: str) -> dict[str, object]:
    return {
        "@type": "OpeningHoursSpecification", "dayOfWeek": days, "opens": opens, "closes": closes
    }  # fmt: skip


OPEN = specification("Saturday", "10:00", "23:00")


@pytest.mark.parametrize(
    ("opens", "closes"), [("00:00", "00:00"), ("00:00:00", "00:00:00"), ("0:00", "0:00")]
)
def test_day_from_midnight_to_midnight_is_closed(opens, closes):
    closed = specification("https://schema.org/Sunday", opens, closes)

    assert hours(openingHoursSpecification=[OPEN, closed]) == ("Sa 10:00-23:00",)
    assert hours(openingHoursSpecification=[closed]) == ()


@pytest.mark.parametrize("closes", ["23:59", "24:00"])
def test_day_until_its_end_is_open(closes):
    entry = specification("Sunday", "00:00", closes)

    assert hours(openingHoursSpecification=[entry]) == (f"Su 00:00-{closes}",)


@pytest.mark.parametrize(
    "closed",
    [
        "Mo Closed", "Mo closed", "Monday: Closed", "Dimanche : -", "Dimanche : fermé",
        "Sonntag geschlossen", "So: Ruhetag", "Domenica chiuso", "Domingo: cerrado",
        "Domingo: fechado", "Zondag gesloten", "Søndag lukket", "Söndag stängt", "Neděle zavřeno",
        "Niedziela: nieczynne", "Su -", "Su off", "Mo-",
    ],
)  # fmt: skip
def test_text_of_a_closed_day_is_skipped(closed):
    assert hours(openingHours=[closed, "Tu 10:30-22:00"]) == ("Tu 10:30-22:00",)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Lundi : 09:30-19:30", "Mo 09:30-19:30"),
        ("Montag - Freitag: 08:00-18:00", "Mo-Fr 08:00-18:00"),
        ("lunedì 9:00-13:00", "Mo 9:00-13:00"),
        ("Lunes a Viernes 10:00-14:00", "Mo-Fr 10:00-14:00"),
        ("Maandag t/m vrijdag 09:00-17:00", "Mo-Fr 09:00-17:00"),
        ("sobota 8:00-12:00", "Sa 8:00-12:00"),
        ("Monday to Friday 9:00-17:00", "Mo-Fr 9:00-17:00"),
        ("Monday 9:00-17:00", "Mo 9:00-17:00"),
    ],
)
def test_name_of_a_day_becomes_its_abbreviation(text, expected):
    assert hours(openingHours=text) == (expected,)


@pytest.mark.parametrize(
    "text",
    [
        "Mo-Su", "Mo,Tu,We,Th,Fr,Sa,Su 10:30am-10:00pm", "Mo-Fr 09:00-18:00", "24/7",
        "Daily 9-5", "Thanksgiving CLOSED, Black Friday 6:00am-10:00pm",
        "Sunday 11:00am - 06:00pm; Monday - Saturday 10:00am - 10:00pm",
    ],
)  # fmt: skip
def test_other_text_is_kept_as_it_is(text):
    assert hours(openingHours=text) == (text,)


@pytest.mark.parametrize(
    ("days", "expected"),
    [
        (["Luned&#236; - Venerd&#236;"], "Mo-Fr"),
        ("Sabato - Domenica", "Sa-Su"),
        ("Montag", "Mo"),
        (["Lundi", "Mardi"], "Mo,Tu"),
        ("środa", "We"),
        ("Čtvrtek", "Th"),
        ("Torsdag", "Th"),
        ("Monday-Friday", "Mo-Fr"),
        ("Mo", "Mo"),
        ("Mo-Fr", "Mo-Fr"),
        ("PublicHolidays", "PH"),
        ("http://purl.org/goodrelations/v1#Monday", "Mo"),
    ],
)
def test_days_of_a_specification_are_read_in_several_languages(days, expected):
    entry = specification(days, "6.30", "23.00")

    assert hours(openingHoursSpecification=entry) == (f"{expected} 6:30-23:00",)
