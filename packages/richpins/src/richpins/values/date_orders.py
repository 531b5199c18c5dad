"""
Decide from the language or weekday which number in a date such as `2/12/2015` is the day.

The orders are from CLDR's short date formats.
"""

from __future__ import annotations

_DAY_FIRST_LANGUAGES = frozenset(
    "ar az be bg bn bs ca cs cy da de el es et eu fi fr ga gl he hi hr id is it ka kk lb lv mk ms "
    "mt nb nl nn no pl pt ro ru sk sl sq sr sv ta te th tr uk ur uz vi".split()
)
"""Languages in which dates with slashes have the day first, in almost all countries."""
_DAY_FIRST_REGIONS = frozenset(
    "en-au en-bz en-gb en-gh en-hk en-ie en-in en-jm en-ke en-mt en-my en-ng en-nz en-pk en-sg "
    "en-tt en-ug en-uk en-zm".split()
)
_NOT_DAY_FIRST_REGIONS = frozenset({"es-pa", "es-pr", "es-us", "fr-ca"})
"""Regions where the month comes first, or both orders are in use."""
_WEEKDAYS = {
    name: number
    for number, names in enumerate(
        (
            (
                "mon monday mo montag lun lundi lunes lunedì lunedi segunda segunda-feira seg "
                "ma maandag poniedziałek pon mån måndag man mandag понедельник пн pondělí "
                "pazartesi"
            ),
            (
                "tue tues tuesday di dienstag mar mardi martes martedì martedi terça "
                "terça-feira ter terca-feira dinsdag wtorek tis tisdag tir tirsdag вторник вт "
                "úterý salı"
            ),
            (
                "wed weds wednesday mi mittwoch mer mercredi miércoles miercoles mié "
                "mercoledì mercoledi quarta quarta-feira qua wo woensdag środa śr ons onsdag "
                "среда ср středa"
            ),
            (
                "thu thur thurs thursday donnerstag jeu jeudi jueves jue giovedì giovedi gio "
                "quinta quinta-feira qui donderdag czwartek czw tor torsdag tors четверг чт "
                "čtvrtek"
            ),
            (
                "fri friday fr freitag ven vendredi viernes vie venerdì venerdi sexta "
                "sexta-feira sex vr vrijdag piątek pt fre fredag пятница пт pátek cuma"
            ),
            (
                "sat saturday sa samstag sonnabend sam samedi sábado sabado sáb sab sabato za "
                "zaterdag sobota sob lör lördag lør lørdag суббота сб cumartesi"
            ),
            (
                "sun sunday so sonntag dim dimanche domingo dom domenica zo zondag niedziela "
                "niedz sön söndag søn søndag воскресенье вс neděle pazar"
            ),
        )
    )
    for name in names.split()
}


def has_day_first(language: str) -> bool:
    """Return True if dates with slashes in `language` (`fr`, `pt-BR`) begin with the day."""
    tag = language.strip().lower().replace("_", "-")
    if tag in _NOT_DAY_FIRST_REGIONS:
        return False
    return tag in _DAY_FIRST_REGIONS or tag.partition("-")[0] in _DAY_FIRST_LANGUAGES


def weekday(word: str) -> int | None:
    """Return 0 for Monday to 6 for Sunday, or None for another word."""
    return _WEEKDAYS.get(word.lower())
