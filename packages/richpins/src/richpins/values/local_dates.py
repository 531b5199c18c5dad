"""
Rewrite dates in non-Western scripts and calendars so that `dates` can read them.

`١٢ أغسطس ٢٠١٤` becomes `12 august 2014`. Years of the Buddhist era (Thai) and dates of the Solar
Hijri calendar (Persian) are converted; dates of the lunar Hijri calendar cannot be, because their
days depend on the country.
"""

from __future__ import annotations

import re
import unicodedata
from datetime import date, timedelta

_ENGLISH = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september",
    "october", "november", "december",
)  # fmt: skip
_NAMES = (
    ("يناير كانون_الثاني جانفي ژانویه جنوری ינואר בינואר जनवरी জানুয়ারি জানুয়ারী มกราคม ม.ค. ม.ค"),
    ("فبراير شباط فيفري فوریه فروری פברואר בפברואר फरवरी फ़रवरी ফেব্রুয়ারি ফেব্রুয়ারী กุมภาพันธ์ ก.พ. ก.พ"),
    ("مارس آذار مارچ מרץ במרץ मार्च মার্চ มีนาคม มี.ค. มี.ค"),
    ("أبريل ابريل إبريل نيسان أفريل آوریل اپریل אפריל באפריל अप्रैल এপ্রিল เมษายน เม.ย. เม.ย"),
    ("مايو أيار ايار ماي مئی מאי במאי मई মে พฤษภาคม พ.ค. พ.ค"),
    ("يونيو يونيه حزيران جوان ژوئن جون יוני ביוני जून জুন มิถุนายน มิ.ย. มิ.ย"),
    ("يوليو يوليه تموز جويلية ژوئیه جولائی יולי ביולי जुलाई জুলাই กรกฎาคม ก.ค. ก.ค"),
    ("أغسطس اغسطس آب أوت اگست אוגוסט באוגוסט अगस्त আগস্ট สิงหาคม ส.ค. ส.ค"),
    ("سبتمبر أيلول ايلول سپتامبر ستمبر ספטמבר בספטמבר सितंबर सितम्बर সেপ্টেম্বর กันยายน ก.ย. ก.ย"),
    (
        "أكتوبر اكتوبر تشرين_الأول تشرين_الاول اکتبر اکتوبر אוקטובר באוקטובר अक्टूबर अक्तूबर অক্টোবর "
        "ตุลาคม ต.ค. ต.ค"
    ),
    ("نوفمبر تشرين_الثاني نوامبر نومبر נובמבר בנובמבר नवंबर नवम्बर নভেম্বর พฤศจิกายน พ.ย. พ.ย"),
    (
        "ديسمبر كانون_الأول كانون_الاول دسامبر دسمبر דצמבר בדצמבר दिसंबर दिसम्बर ডিসেম্বর "
        "ธันวาคม ธ.ค. ธ.ค"
    ),
)
"""Months in Arabic, Persian, Urdu, Hebrew, Hindi, Bengali and Thai."""
_MONTHS = {
    unicodedata.normalize("NFC", name.replace("_", " ")): english
    for english, names in zip(_ENGLISH, _NAMES, strict=True)
    for name in names.split()
}
_PERSIAN_MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "فروردین", "اردیبهشت", "خرداد", "تیر", "مرداد امرداد", "شهریور", "مهر", "آبان", "آذر",
            "دی", "بهمن", "اسفند",
        ),
        1,
    )
    for name in names.split()
}  # fmt: skip
"""The Persian month `آذر` (from November) is not the Arabic `آذار` (March)."""


def _one_of(names: dict[str, object]) -> str:
    return "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))


_LETTER = r"[^\W\d_]"
_MONTH = re.compile(rf"(?<!{_LETTER})(?:{_one_of(dict(_MONTHS))})(?!{_LETTER})")
_PERSIAN_MONTH = re.compile(
    rf"(?<!\d)(\d{{1,2}})\s(?:ام\s)?({_one_of(dict(_PERSIAN_MONTHS))})\s(?:ماه\s)?(1[34]\d\d)(?!\d)"
)
_PERSIAN_NUMBERS = re.compile(r"(?<!\d)(1[34]\d\d)([/-])([01]?\d)\2([0-3]?\d)(?!\d)")
_THAI_YEAR = re.compile(r"(?<!\d)(?:พ\.?\s?ศ\.?\s?)?(2[456]\d\d)(?!\d)")
_SHORT_THAI_YEAR = re.compile(rf"({'|'.join(_ENGLISH)})\s(\d\d)(?![\d:])")
_WEEKDAY = re.compile(
    r"(?:(?:يوم\s)?ال(?:سبت|[أا]حد|[إا]ثنين|ثلاثاء|[أا]ربعاء|خميس|جمعة)"
    r"|(?:یک|دو|سه|چهار|پنج)?[\s\u200c]?شنبه|جمعه"
    r"|(?:יום\s)?(?:ראשון|שני|שלישי|רביעי|חמישי|שישי|שבת)|יום\s[א-ש]['׳]"
    r"|(?:सोम|मंगल|बुध|गुरु|शुक्र|शनि|रवि)वार|(?:সোম|মঙ্গল|বুধ|বৃহস্পতি|শুক্র|শনি|রবি)বার"
    r"|วัน(?:จันทร์|อังคาร|พุธ|พฤหัสบดี|ศุกร์|เสาร์|อาทิตย์)(?:ที่)?)\s{0,2},?\s{0,2}"
)
_FORENOON = re.compile(r"(:\d\d)\s?(?:صباح[اًا]*|ص)(?!\w)")
_AFTERNOON = re.compile(r"(:\d\d)\s?(?:مساءً?|م)(?!\w)")
_WORDS_BEFORE_TIME = re.compile(r"\s?(?:الساعة|في تمام|ساعت|בשעה|เวลา|[-–|])\s?(?=\d{1,2}:\d\d)")
_VIETNAMESE = re.compile(
    r"(?:ngày\s)?(\d{1,2})\stháng\s(\d{1,2})(?:,|,?\snăm)?\s(\d{4})", re.IGNORECASE
)
_OTHER_SCRIPT = re.compile(r"[\u0590-\u0e7f]")
_HIJRI = "هـ"
_BUDDHIST_ERA_YEARS = 543
_MAX_CHARS = 120


_MONTHS_BY_LANGUAGE = {
    "hr": {"listopad": "october", "listopada": "october", "lis": "october", "lip": "june"},
    "pl": {"listopad": "november", "lip": "july"},
    "cs": {"listopad": "november", "lis": "november"},
}
"""Names that mean another month in a related language."""
_WORD = re.compile(r"[^\W\d_]+")


def western(text: str, language: str | None = None) -> str:
    """
    Rewrite a date in English and the Western calendar; text already in them stays unchanged.

    Numbers alone do not show the calendar, so in Persian and Thai the page's `language` decides. It
    also decides which month a name such as `listopada` means. A date of the lunar Hijri calendar
    becomes empty.
    """
    base = (language or "")[:2].lower()
    if len(text) <= _MAX_CHARS and (names := _MONTHS_BY_LANGUAGE.get(base)):
        text = _WORD.sub(lambda match: names.get(match[0].lower(), match[0]), text)
    if (text.isascii() and base not in {"fa", "th"}) or len(text) > _MAX_CHARS:
        return text
    text = _VIETNAMESE.sub(r"\3-\2-\1", text)
    has_other_script = _OTHER_SCRIPT.search(text) is not None
    if not has_other_script and base not in {"fa", "th"}:
        return text
    if _HIJRI in text:
        return ""
    text = _with_ascii_digits(unicodedata.normalize("NFC", text))
    text = _WEEKDAY.sub("", text, count=1)
    text = _AFTERNOON.sub(r"\1 pm", _FORENOON.sub(r"\1 am", text))
    text = _WORDS_BEFORE_TIME.sub(" ", text)
    if base == "fa" or has_other_script:
        text = _PERSIAN_MONTH.sub(_solar_hijri_by_name, text)
    if base == "fa":
        text = _PERSIAN_NUMBERS.sub(_solar_hijri_by_number, text)
    is_thai = base == "th" or re.search(r"[\u0e00-\u0e7f]", text) is not None
    text = _MONTH.sub(lambda match: _MONTHS[match[0]], text)
    return _without_buddhist_era(text) if is_thai else text


def _with_ascii_digits(text: str) -> str:
    characters = (
        str(unicodedata.decimal(character)) if character.isdecimal() else character
        for character in text
    )
    return "".join(characters).replace("،", ",").replace("٫", ".")


def _without_buddhist_era(text: str) -> str:
    text = _THAI_YEAR.sub(lambda match: str(int(match[1]) - _BUDDHIST_ERA_YEARS), text)
    text = _SHORT_THAI_YEAR.sub(
        lambda match: f"{match[1]} {2500 + int(match[2]) - _BUDDHIST_ERA_YEARS}", text
    )
    return re.sub(r"\s?น\.?\Z", "", text)


def _solar_hijri_by_name(match: re.Match[str]) -> str:
    return _gregorian(int(match[3]), _PERSIAN_MONTHS[match[2]], int(match[1])) or ""


def _solar_hijri_by_number(match: re.Match[str]) -> str:
    return _gregorian(int(match[1]), int(match[3]), int(match[4])) or ""


_NEW_YEAR_1403 = date(2024, 3, 20)


def _gregorian(year: int, month: int, day: int) -> str | None:
    """
    Convert a day of the Solar Hijri calendar to an ISO date; None if the day does not exist.

    8 of 33 years are leap years, which agrees with the astronomical calendar from 1244 to 1472
    (1865 to 2093 in the Western calendar).
    """
    days_in_month = 31 if month <= 6 else 30 if month <= 11 or _is_leap(year) else 29
    if not (1 <= month <= 12 and 1 <= day <= days_in_month):
        return None
    leap_days = (8 * year + 21) // 33 - (8 * 1403 + 21) // 33
    day_of_year = (month - 1) * 31 - max(0, month - 7) + day - 1
    days = 365 * (year - 1403) + leap_days + day_of_year
    return (_NEW_YEAR_1403 + timedelta(days=days)).isoformat()


def _is_leap(year: int) -> bool:
    return (8 * year + 29) % 33 < 8
