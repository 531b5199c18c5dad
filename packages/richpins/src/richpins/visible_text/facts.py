"""
Recognize facts next to a recipe's lists: times, difficulty, calories, credits.

A line is a fact if it consists of numbers and words for such facts, in about 25 languages.
"""

from __future__ import annotations

import re

MAX_FACT_CHARS = 80
_MAX_WORDS = 12


def is_fact(text: str) -> bool:
    """
    Return True for a time with its caption (`Total Time: 0:40`, `8 min cuisson`) or a difficulty.

    A sentence such as `Bake 20 minutes.`, with a period and no colon, is not a fact.
    """
    if len(text) > MAX_FACT_CHARS or _is_sentence(text):
        return False
    words = _WORD.findall(text.casefold())
    if not 0 < len(words) <= _MAX_WORDS:
        return False
    if not any(map(str.isdigit, text)):
        return text.casefold().strip(" :") in _BARE_CAPTIONS or _all_match(words, _DIFFICULTY_WORD)
    return _CLOCK_OR_DURATION.search(text) is not None and _all_match(words, _TIME_WORD)


def _is_sentence(text: str) -> bool:
    return (
        text[-1:] in _SENTENCE_ENDS and ":" not in text and not _ENDS_WITH_ABBREVIATION.search(text)
    )


_SENTENCE_ENDS = (".", "!", "。", "！")
_ENDS_WITH_ABBREVIATION = re.compile(
    r"\b(?:min|mins|std|stdn|hrs?|h|ca|tim|godz|perc|мин|час|ч)\.\Z", re.IGNORECASE
)
_WORD = re.compile(r"[^\W\d]+")


def _all_match(words: list[str], pattern: re.Pattern[str]) -> bool:
    return all(pattern.fullmatch(word) for word in words)


_TIME_UNITS = (
    r"h|hr|hrs|hours?|heures?|horas?|or[ae]|std|stdn|stunden?|uur|uren|timer?|timmar?|tim|tunti|tuntia|godz|"
    r"godzin\w?|hod|hodin\w?|óra|ώρ\w{1,3}|час\w{0,3}|ч|годин\w?|saat|m|min|mins|minut\w{0,4}|perc|dk|dakika|"
    r"λεπτ\w{1,3}|мин\w{0,4}|хв\w{0,6}|days?|tage?n?|jours?|d[ií]as?|giorn[oi]|dagen|dage|dni|napok?|分|分钟|時間|小时|분|시간"
)
_CLOCK_OR_DURATION = re.compile(
    rf"(?<!\d)\d{{1,2}}:\d\d(?!\d)|\d\s?(?:{_TIME_UNITS})(?![^\W\d])", re.IGNORECASE
)
_TIME_WORD = re.compile(
    rf"{_TIME_UNITS}|"
    # words in captions of times
    r"time|times|prep|preparation|cook|cooking|baking|active|inactive|hands|on|passive|total|additional|rest|"
    r"resting|chilling|cooling|rising|proofing|marinating|soaking|freezing|waiting|standing|ready|in|takes|start|finish|"
    r"\w{0,20}zeit(?:en)?|dauer|fertig|gesamt|insgesamt|kochen|backen|ruhen|arbeitsaufwand|"
    r"temps|préparation|preparation|cuisson|repos|attente|réfrigération|marinade|trempage|totale?|"
    r"tiempo|tiempos|preparación|cocción|cocinado|reposo|horneado|tempo|tempi|preparazione|cottura|riposo|lievitazione|"
    r"ammollo|preparo|cozimento|cozedura|espera|descanso|forno|"
    r"\w{0,20}tijd|bereiding|voorbereiding|bereiden|oven|wachten|rusten|totaal|"
    r"czas|czasu|przygotowani\w{1,2}|gotowani\w{1,2}|pieczeni\w{1,2}|całkowity|łączny|"
    r"\w{0,20}tid|förberedelse|tillagning|totalt|ialt|i|alt|tilberedning|steking|"
    r"idő|elkészítési|elkészítés|sütési|főzési|előkészítési|teljes|összes|összidő|előkészület|"
    r"čas|doba|přípravy|příprava|vaření|pečení|celkem|príprava|"
    r"süre|süresi|hazırlama|hazırlık|pişirme|toplam|время|приготовлени\w|готовки|общее|час|"
    r"χρόνος|προετοιμασίας|μαγειρέματος|aika|valmistusaika|kypsennysaika|"
    # words near a duration
    r"about|approx\w{0,8}|around|under|over|up|to|and|plus|or|circa|ca|etwa|unter|über|ungefähr|bis|zu|und|mit|"
    r"environ|moins|de|du|en|et|à|a|unos?|más|menos|y|e|o|di|da|della?|del|min|ongeveer|en|onder|około|do|ok|"
    r"cirka|under|og|och|asi|kb|около|yaklaşık|per|for|le|la|el|il|the|"
    # names of icons that a font shows as pictures
    r"microwave|schedule|timer|alarm|kitchen|restaurant|blender|access_time|query_builder|hourglass_\w{1,9}|"
    r"watch_later|outdoor_grill|av_timer"
)
_BARE_CAPTIONS = frozenset(
    (
        "prep,cook,total,active,ready in,prep time,cook time,cooking time,total time,active time,"
        "inactive time,preparation time,rest time,additional time,hands-on time,vorbereitungszeit,"
        "kochzeit,backzeit,garzeit,gesamtzeit,arbeitszeit,zubereitungszeit,ruhezeit,kühlzeit,"
        "temps de préparation,temps de cuisson,temps de repos,temps total,cuisson,repos,"
        "tiempo de preparación,tiempo de cocción,tiempo total,cocción,tempo di preparazione,"
        "tempo di cottura,tempo totale,cottura,tempo de preparo,tempo de cozimento,tempo total,"
        "bereidingstijd,kooktijd,oventijd,voorbereidingstijd,totale tijd,wachttijd,"
        "czas przygotowania,czas gotowania,czas pieczenia,tillagningstid,arbejdstid,"
        "tilberedningstid,total tid,elkészítési idő,sütési idő,főzési idő,время приготовления,"
        "doba přípravy,hazırlama süresi,pişirme süresi"
    ).split(",")
)
"""Captions whose time is in another element."""
_DIFFICULTY_WORD = re.compile(
    r"difficulty|level|skill|difficile|difficulté|niveau|dificultad|dificuldade|difficoltà|nivel|livello|"
    r"schwierigkeit(?:sgrad)?|komplexität|aufwand|moeilijkheid(?:sgraad)?|trudność|poziom|trudności|"
    r"svårighetsgrad|vanskelighetsgrad|sværhedsgrad|nehézség|nehézségi|szint|obtížnost|náročnost|zorluk|сложность|"
    r"easy|simple|medium|moderate|hard|difficult|intermediate|beginner|"
    r"einfach|leicht|mittel|mittelschwer|schwer|simpel|anspruchsvoll|facile|très|moyen|moyenne|"
    r"fácil|media|medio|difícil|média|médio|gemiddeld|makkelijk|moeilijk|eenvoudig|łatw[aey]|średni[ae]?|trudn[aey]|"
    r"lätt|enkel|medel|svår|middels|vanskelig|nem|let|svær|könnyű|közepes|nehéz|snadn[áéý]|lehk[áéý]|střední|"
    r"kolay|orta|zor|л[её]гк\w{1,2}|легко|средн\w{1,3}|сложн\w{1,2}|просто"
)
"""The words in a line such as `Difficulty: easy`."""


def is_note_among_steps(text: str) -> bool:
    """Return True for calories per portion, an invitation to watch a video, or a credit."""
    if len(text) <= MAX_FACT_CHARS and (_VIDEO_INVITATION.match(text) or _CREDIT.fullmatch(text)):
        return True
    return _ENERGY.search(text) is not None and _PER_SERVING.search(text) is not None


_ENERGY = re.compile(
    r"\d\s?(?:k?cal|kcals|calor[ií]\w{1,3}|kalori\w{1,3}|calorie[sn]?|kj|kilojoules?)\b"
    r"|\b(?:calories|kcal|kalorien|energie|energy|énergie|brennwert)\s?:?\s?\d",
    re.IGNORECASE,
)
_PER_SERVING = re.compile(
    r"\b(?:per|pro|par|por|på|na|för|je|each|of)\s(?:1\s)?(?:serving|portion\w{0,3}|porsjon|person\w{0,3}|persoon|"
    r"persona|porción|porção|porzione|porcj[aęi]|ración|slice|piece|cookie|muffin|bar|stück|tranche|part|100\s?g|adag)\b"
    r"|\bnutrition(?:al)?\b|\bnährwert\w{0,8}|\bvoedingswaarde|\bnäringsvärde|\bvaleurs?\snutriti",
    re.IGNORECASE,
)
_VIDEO_INVITATION = re.compile(
    r"(?:watch|see)\s(?:how|our|the|this|a)\b.{0,40}\b(?:make|made|video|recipe|clip)\b"
    r"|(?:regardez?|voir)\s(?:la|notre|cette)\svidéo|(?:schau\w?|sieh)\b.{0,30}\bvideo|guarda\sil\svideo|"
    r"(?:mira|ver|vea)\sel\s(?:v[ií]deo)|(?:bekijk|kijk)\b.{0,20}\bvideo|(?:assista|veja)\s(?:ao?|o)\svídeo|"
    r"se\svideo(?:en|n)?\b|(?:obejrzyj|zobacz)\s(?:film|wideo)",
    re.IGNORECASE,
)
_CREDIT = re.compile(
    r"(?:(?:cr[ée]dit(?:os?|i|s)?|foto(?:s|graf\w{0,2}|kredit)?|photos?|pictures?|bild(?:er|nachweis)?|images?)"
    r"(?:\s(?:photos?|fotos?|images?|credits?))?\s?[:©]\s?\S.{0,60}"
    r"|(?:rezept|recette|receta|ricetta|recept|opskrift|oppskrift|styling|autor(?:in|a)?|author|auteure?|autore)\s?:\s?\S.{0,60})",
    re.IGNORECASE,
)


def is_address(text: str) -> bool:
    """Return True for a URL or a host name such as `www.pot.example`."""
    return _SITE_ADDRESS.fullmatch(text) is not None


_SITE_ADDRESS = re.compile(r"(?:https?://|www\.)\S+", re.IGNORECASE)
