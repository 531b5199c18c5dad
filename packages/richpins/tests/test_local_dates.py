"""Dates in other scripts and calendars, and dates without a day."""

from datetime import date, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pins import pin

from richpins.values import dates
from richpins.values.local_dates import western


@pytest.mark.parametrize(
    ("text", "language", "iso"),
    [
        ("٢٤/٢/٢٠١٧", "ar", "2017-02-24"),
        ("۲۰۱۷-۰۲-۲۴", None, "2017-02-24"),
        ("٠٦ أغسطس, ٢٠١٤ ٠١:٠٧:٠٤", "ar", "2014-08-06T01:07:04"),
        ("الأربعاء، 6 آب 2014 - 05:30 م", "ar", "2014-08-06T17:30:00"),
        ("6 تشرين الثاني 2014 09:15 صباحا", "ar", "2014-11-06T09:15:00"),
        ("12 مارس 2020", "ar", "2020-03-12"),
        ("12 ژانویه 2020", "fa", "2020-01-12"),
        ("5 فروری 2020", "ur", "2020-02-05"),
        ("יום רביעי, 5 במאי 2020 בשעה 10:30", "he", "2020-05-05T10:30:00"),
        ("5 אוגוסט 2020", "he", "2020-08-05"),
        ("बुधवार, 5 फरवरी 2020", "hi", "2020-02-05"),
        ("५ फरवरी २०२०", "hi", "2020-02-05"),
        ("৫ ফেব্রুয়ারি ২০২০", "bn", "2020-02-05"),
        ("5 tháng 6 năm 2020", "vi", "2020-06-05"),
        ("Ngày 5 tháng 6, 2020", "vi", "2020-06-05"),
        ("12 พ.ค. 2565", "th", "2022-05-12"),
        ("12 พ.ค. 65", "th", "2022-05-12"),
        ("วันพุธที่ 12 พฤษภาคม พ.ศ. 2565 เวลา 10:30 น.", "th", "2022-05-12T10:30:00"),
        ("12/05/2565", "th", "2022-05-12"),
        ("๑๒ พฤษภาคม ๒๕๖๕", None, "2022-05-12"),
        ("12 พฤษภาคม 2022", "th", "2022-05-12"),
        ("۱۴ خرداد ۱۴۰۳", None, "2024-06-03"),
        ("سه‌شنبه ۱۴ خرداد ۱۴۰۳ - ۱۰:۳۰", "fa", "2024-06-03T10:30:00"),
        ("1403/03/14", "fa", "2024-06-03"),
        ("1403-12-30T08:00:00+03:30", "fa", "2025-03-20T08:00:00+03:30"),
    ],
)
def test_date_in_another_script_or_calendar_is_parsed(text, language, iso):
    moment = dates.moment(text, language)

    assert moment is not None
    assert moment.isoformat() == iso


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("١٤٤٥/٠٣/١٢ هـ", "ar"),
        ("12 رمضان 1445", "ar"),
        ("1402/12/30", "fa"),
        ("1403/13/01", "fa"),
        ("32 พฤษภาคม 2565", "th"),
        ("12 مايونيز 2020", "ar"),
    ],
)
def test_day_that_does_not_exist_or_depends_on_the_country_is_no_date(text, language):
    assert dates.moment(text, language) is None


@pytest.mark.parametrize("text", ["2024-05-01", "1 août 2009", "12 sept. 2020", "1403-03-14", ""])
def test_western_date_is_unchanged(text):
    assert western(text) == text


@pytest.mark.parametrize("year", [1300, 1301, 1370, 1399, 1402, 1403, 1408])
def test_days_of_the_persian_calendar_follow_each_other(year):
    days = [
        dates.moment(f"{year}/{month}/{day}", "fa")
        for month in range(1, 13)
        for day in range(1, 32)
    ]
    gregorian = [day for day in days if day is not None]

    assert len(gregorian) == (366 if year in {1300, 1370, 1399, 1403, 1408} else 365)
    assert all(b - a == timedelta(days=1) for a, b in pairwise(gregorian))


@given(year=st.integers(1300, 1449))
def test_persian_new_year_is_in_march(year):
    new_year = dates.moment(f"{year}/1/1", "fa")

    assert (new_year.month, new_year.day) in {(3, 20), (3, 21), (3, 22)}
    assert new_year.year == year + 621


@pytest.mark.parametrize(
    ("text", "iso"),
    [
        ("1973/07", "1973-07"),
        ("07/1973", "1973-07"),
        ("1973.7", "1973-07"),
        ("July 1973", "1973-07"),
        ("Juli 1973", "1973-07"),
        ("1973 July", "1973-07"),
        ("يوليو 1973", "1973-07"),
        ("1973年7月", "1973-07"),
        ("1973년 7월", "1973-07"),
        ("1973年", "1973"),
        ("1973", "1973"),
    ],
)
def test_month_without_a_day_is_a_partial_date(text, iso):
    assert dates.moment_or_year(text).isoformat() == iso


@pytest.mark.parametrize("text", ["13/1973", "1973/13", "1973年13月", "Room 1973", "0999", "2201"])
def test_other_number_is_no_month(text):
    assert dates.moment_or_year(text) is None


def _published(body, language):
    page = (
        f'<html lang={language}><title>A</title><meta property="og:type" content="article">'
        f"<article><h1>A</h1>{body}<p>One.</p></article></html>"
    )
    return pin(page).published_at


@pytest.mark.parametrize(
    ("body", "language"),
    [
        ("<p class=published>نشر في ٢٤/٢/٢٠١٧</p>", "ar"),
        ("<p class=date>تاريخ النشر: 24 فبراير 2017</p>", "ar"),
        ("<p>نشر في 24 فبراير 2017</p>", "ar"),
        ("<p>٢٤ فبراير ٢٠١٧</p>", "ar"),
        ("<p class=published>เผยแพร่ 24 ก.พ. 2560</p>", "th"),
        ("<p>วันที่ 24 กุมภาพันธ์ 2560</p>", "th"),
        ("<p class=date>Ngày đăng: 24/2/2017</p>", "vi"),
        ("<p class=date>פורסם ב-24 בפברואר 2017</p>", "he"),
        ("<p class=date>تاریخ انتشار: ۶ اسفند ۱۳۹۵</p>", "fa"),
        ("<p class=date>प्रकाशित 24 फरवरी 2017</p>", "hi"),
        ("<abbr class=published itemprop=datePublished title=2017-02-24>10:58</abbr>", "en"),
    ],
)
def test_visible_date_of_publication_is_found(body, language):
    assert _published(body, language) == date(2017, 2, 24)


def test_label_of_another_date_is_not_the_publication():
    assert _published("<p class=date>آخر موعد: ٢٤/٢/٢٠١٧</p>", "ar") is None
