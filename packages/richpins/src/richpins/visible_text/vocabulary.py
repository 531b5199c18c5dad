"""Words that identify the visible parts of a recipe in some 25 languages."""

from __future__ import annotations

import re

from richpins.structured_data.words import INGREDIENTS, UNITS, Words

_INGREDIENTS = (
    "ingredients? ingr[eé]dients? ingredientes ingredienti ingredi[eë]nten zutaten składniki "
    "ingredienser hozzávalók ingredience suroviny malzemeler υλικά συστατικά ингредиенты состав "
    "продукты інгредієнти sastojci sestavine ainekset 材料 재료 食材 koostisosad ingrediente "
    "nguyên\\s+liệu bahan ingrediensliste ingredienslista zutatenliste ingredi[eë]ntenlijst "
    "liste\\s+des\\s+ingr[eé]dients lista\\s+de\\s+ingredientes lista\\s+(?:degli\\s+)?ingredienti "
    "lista\\s+składników 用料 配料"
).split()
_STEPS = (
    "directions? instructions? method preparation(?:\\s+steps)? preparations? steps? procedure "
    "how\\s+to\\s+make.* how\\s+to\\s+cook.* here.s\\s+how.* préparation étapes? zubereitung "
    "anleitung preparación elaboración modo\\s+de\\s+prepar\\w+ preparazione procedimento "
    "bereiding bereidingswijze werkwijze przygotowanie sposób\\s+przygotowania wykonanie "
    "przygotowanie\\s+krok\\s+po\\s+kroku krok\\s+po\\s+kroku gör\\s+så\\s+här tillagning "
    "instruktioner fremgangsmåte fremgangsmåde sådan\\s+gør\\s+du εκτέλεση εκτελεση "
    "приготовление способ\\s+приготовления приготування elkészítés elkészítése postup příprava "
    "přípravy hazırlanışı yapılışı 作り方 "
    "만드는\\s*법 做法 priprema postopek valmistus valmistusohje "
    "preparo tilberedning mod\\s+de\\s+preparare recette réalisation cooking\\s+instructions "
    "preparation\\s+method aan\\s+de\\s+slag zo\\s+maak\\s+je\\s+het how\\s+to\\s+prepare.* "
    "step.by.step.* let.s\\s+cook.* so\\s+geht.s so\\s+wird.s\\s+gemacht slik\\s+gjør\\s+du "
    "ohje näin\\s+teet 步骤 步驟 手順 pasos sposób\\s+wykonania vorbereit(?:en|ung) zubereiten "
    "voorbereid(?:en|ing) bereiden cooking\\s+(?:directions|method|steps) "
    "preparation\\s+(?:instructions|directions) method\\s+of\\s+preparation what\\s+to\\s+do "
    "how\\s+it.s\\s+done putting\\s+it\\s+(?:all\\s+)?together paso\\s+a\\s+paso instrucciones "
    "procedimiento modo\\s+de\\s+(?:elaboración|hacerlo|fazer) instruções passo\\s+a\\s+passo "
    "confe[cç]ção étape\\s+par\\s+étape progression déroulé (?:zubereitungs|arbeits)?schritte "
    "schritt\\s+für\\s+schritt arbeitsanleitung anweisungen und\\s+so\\s+geht.s istruzioni "
    "passaggi passo\\s+(?:dopo\\s+)?passo svolgimento instructies stappen(?:plan)? "
    "stap\\s+voor\\s+stap zo\\s+ga\\s+je\\s+te\\s+werk zo\\s+doe\\s+je\\s+het instrukcj[ae] "
    "så\\s+här\\s+gör\\s+du tillvägagångssätt steg\\s+för\\s+steg beredning "
    "slik\\s+lager\\s+du\\s+det framgangsmåte steg\\s+for\\s+steg "
    "sådan\\s+(?:gør\\s+man|laver\\s+du\\s+det) trin\\s+for\\s+trin valmistustapa työvaiheet "
    "tee\\s+näin ohjeet így\\s+készül (?:az\\s+)?elkészítés\\s+(?:menete|módja) "
    "elkészítési\\s+mód lépésről\\s+lépésre (?:pracovní\\s+)?postup\\s+(?:přípravy|prípravy) "
    "jak\\s+na\\s+to príprava yapılış\\s+(?:aşamaları|tarifi) adım\\s+adım οδηγίες διαδικασία "
    "παρασκευή τρόπος\\s+παρασκευής пошаговый\\s+рецепт пошаговое\\s+приготовление инструкция "
    "спосіб\\s+приготування приготування приготвяне начин\\s+на\\s+приготвяне postupak "
    "način\\s+pripreme priprava preparare instrucțiuni cách\\s+(?:làm|nấu|chế\\s+biến) "
    "các\\s+bước cara\\s+(?:membuat|memasak) langkah-?langkah "
    "come\\s+(?:fare|preparare|si\\s+(?:fa|prepara)).* "
    "c[óo]mo\\s+(?:hacer|preparar|se\\s+(?:hace|prepara)).* como\\s+fazer.* "
    "comment\\s+(?:faire|préparer|réaliser|cuisiner).* "
    "so\\s+(?:machst|bereitest|gelingen|gelingt)\\b.* (?:zo|hoe)\\s+maak\\s+je.* "
    "jak\\s+(?:zrobić|przygotować).* как\\s+(?:приготовить|сделать|готовить).* "
    "як\\s+приготувати.* hur\\s+(?:gör|lagar)\\s+man.* "
    "制作方法 制作步骤 烹饪步骤 調理手順 조리\\s*(?:순서|방법|법)"
).split()
_OPTIONAL_OPENING = (
    r"(?:the\s+|for\s+the\s+|les\s+|la\s+|las\s+|die\s+|los\s+|gli\s+|de\s+|recipe\s+)?"
)
_OPTIONAL_ENDING = (
    r"(?:\s*\([^)]{0,40}\))?"
    r"(?:\s+(?:for|für|pour|para|voor|per|list|needed|you.ll need|of|de|del|della|di|do|da|"
    r"met|mit|med|with|con|avec)\b.{0,40})?"
)
INGREDIENTS_HEADING = re.compile(
    rf"{_OPTIONAL_OPENING}(?:{'|'.join(_INGREDIENTS)}){_OPTIONAL_ENDING}\s*+[:：!]?\s*+",
    re.IGNORECASE,
)
STEPS_HEADING = re.compile(
    rf"{_OPTIONAL_OPENING}(?:{'|'.join(_STEPS)}){_OPTIONAL_ENDING}\s*+[:：!]?\s*+", re.IGNORECASE
)
_ASKS_HOW = (
    r"come\s(?:fare|preparare|si)|c[óo]mo\s(?:hacer|preparar|se|fazer)|comment|"
    r"so\s(?:machst|bereitest|geling\w{1,2})|(?:zo|hoe)\smaak\sje|jak\s(?:zrobić|przygotować)|как|як|hur"
)
_HOW_TO_TITLE = re.compile(
    rf"(?:how\sto|here.s\show|step.by.step|let.s\scook|krok\spo\skroku|recette|{_ASKS_HOW})\s.+",
    re.IGNORECASE,
)
_NEEDS_A_LIST = re.compile(rf"(?:{_ASKS_HOW})\s.+", re.IGNORECASE)
YOU_NEED_HEADING = re.compile(
    r"(?:(?:(?:the )?(?:what|things|all) )?you(?:.ll| will)? need|wat heb je nodig|"
    r"(?:was )?(?:du brauchst|ihr braucht|man braucht)|det skal du bruge|du skal bruge|du trenger|"
    r"вам понадобится|benodigdheden|(?:dit )?(?:heb je )?nodig|je hebt nodig|du behöver|"
    r"(?:il (?:vous )?faut|vous aurez besoin(?: de)?)|(?:lo que )?necesit(?:as|arás|amos)|"
    r"(?:cosa|che cosa) serve|você (?:vai )?precisa(?:r)?|potrzebujesz|"
    r"potřebujeme|budete potřebovat)\s*[:：]?",
    re.IGNORECASE,
)
"""Headings such as `You will need`, also for tools. They count only if amounts follow."""
NEXT_PART_HEADING = re.compile(
    r"(?:notes?|tips?|tipps?|(?:recipe|cook.?s|chef.?s|kitchen|baking|cooking|helpful|top|expert|quick|handy)\s(?:notes?|tips?)|"
    r"(?:notes?|tips?|tipps?|hints?|consejos|astuces|conseils|consigli|dicas|opmerkingen|hinweise)"
    r"(?:,\s|\s?[&/+]\s?|\s(?:and|und|et|y|e|en|og|och|i)\s).{1,40}|nutrition.*|equipment|video|comments?|reviews?|related.*|"
    r"you may also.*|share.*|nährwert.*|valeurs.*|storage|faq.*|did you make.*|more recipes|"
    r"about.*|print.*|newsletter|subscribe.*|leave a.*|similar.*|rate this.*|"
    r"serving suggestions?|pro tips.*|tools.*|substitutions.*|variations?.*|common mistakes.*|"
    r"why .*|sign up.*|macros.*|næringsindhold.*|allerg.*|freezing.*|conseils?|astuces?|"
    r"le conseil.*|note de l.auteur|ustensiles?|matériel|consejos?|utensilios|consigli|"
    r"(?:küchen)?utensilien|"
    r"attrezzatura|dicas?|utensílios|anmerkung(?:en)?|hinweise?|zubehör|küchengeräte|"
    r"opmerkingen|benodigd keukengerei|keukenhulpjes|nyttige råd|redskap|tags|"
    r"recipe source|quelle|vidéo.*|vídeo.*)\s*[:!]?",
    re.IGNORECASE,
)
"""Headings that end a list: another part begins there."""
AFTERWORD = re.compile(
    r"\b(?:pinterest|instagram|facebook|newsletter|nieuwsbrief|hashtag|tag\s(?:me|us)|privacy|"
    r"copyright|subscribe|e-?mail|spam|leave\sa\s(?:comment|review)|follow\s(?:me|us)|"
    r"rate\s(?:it|this|the\srecipe)|bewerte|bewertung|affiliate\slinks?|log\s?in|sign\s?in|create\san\saccount|"
    r"(?:enable|allow|accept)\s(?:\w{1,12}\s)?(?:cookies|javascript)|inloggen|maak\seen\saccount|anmelden|"
    r"se\sconnecter|inicia(?:r)?\ssesión|accedi|zaloguj)\b"
    r"|\A(?:photograph(?:y|s|ed)|photos?|recipe|adapted|inspired|text|foto)\s"
    r"(?:and\s\w+\s)?(?:by|from|adapted|inspired|created|courtesy|developed|von)\b"
    r"|\Aoriginally\s(?:published|appeared)\b|\A(?:source|quelle|kilde|fonte|fuente|bron|källa)\s?:\s?\S"
    r"|\A(?:(?:top|pro|chef.?s|cook.?s|kitchen|expert|serving)\s)?(?:tips?|tipp|notes?|hinweis|astuce|consejo|consiglio|nota|n\.?b\.?)\s?:\s?\S",
    re.IGNORECASE,
)
"""Words in paragraphs after the steps: tips, or invitations to follow the site."""
_PORTIONS = (
    r"(?:servings?|people|portion(?:s|en|er)?|portion/en|port|porsjon(?:er)?|person(?:s|en|er|e|as|nes)?|"
    r"pers|personnes|persone|porzioni|porc[eí]\w*|porç(?:ão|ões)|raciones|dose/?s?|adag|főre|osob\w*|osób|pieces?|"
    r"人分|人份|人前)"
)
_NUTRIENTS = (
    r"(?:calories|kcal|kalorien|energi\w*|energy|énergie|brennwert|protein\w*|eiwit\w*|eiweiß|fat|saturates|fett|"
    r"carb\w*|karbohydrat\w*|kolhydrat\w*|kohlenhydrate|koolhydraten|glucides|lipides|fib(?:er|re)s?|sodium|"
    r"sugars?|cholesterol)"
)
_TIME = (
    r"\d[\d.,/ ½¼¾-]{0,8}(?:h(?:ours?|rs?|\d\d)?|m(?:in(?:ute[ns]?|s|uti)?)?|std\.?|stunden?)\b\.?"
)
CONTROL_LABEL = re.compile(
    r"\W*(?:"
    r"(?:edit|bearbeiten|modifier|editar|modifica|bewerken|redigera|edytuj)(?:\s.{0,12})?"
    r"|(?:share|teilen|partager|compartir|condividi|delen|deel|dela|del|udostępnij|tweet|pin(?:\s?it)?|e-?mail|facebook|twitter|"
    r"whatsapp|pinterest|copy\slink|like|follow|subscribe)(?:\s(?:this|on|via|it|to|us|op|auf|sur|en|su|no|på|na)\b.{0,20})?"
    r"|(?:print|drucken|imprimer|imprimir|stampa|save|jump\sto|skip\sto|rate)(?:\s.{0,24})?"
    r"|(?:cook(?:ing)?\smode|prevent\syour|keep\s(?:your\s)?screen).{0,50}|(?:units?\s?)?scale|units?|video|watch\svideo"
    r"|(?:show|hide|view|see|load|read)\s(?:images?|photos?|more|less|all|full)(?:\s.{0,30})?"
    r"|(?:add|send)\s(?:all\s)?(?:\S+\s)?to\s(?:(?:my|your|the)\s)?(?:shopping|grocery|cart|basket|list)"
    r"\b.{0,20}|ajouter\s.{0,20}\b(?:liste|panier)\b.{0,20}|.{0,20}\b(?:einkaufsliste|boodschappenlijst)\b"
    r"(?:\s\S{1,12})?|(?:us\scustomary|metric|imperial)"
    r"|check\s?list|(?:step|schritt|étape|paso|passo|stap|steg|krok)\s?\d{0,2}"
    r"|(?:select|deselect|uncheck)\sall|ingredients?|instructions?|directions?|method"
    r"|(?:[½\d]{1,2}\s?[x×]\s?){1,4}|advertisement|anzeige|publicité|werbung"
    r"|(?:servings?|serves|yields?|makes|portion(?:s|en)(?:\s:)?|for|für|pour|per|voor|för|til|para)\s?:?"
    rf"\s?(?:für\s)?\d{{1,3}}(?:\s?(?:[-–]|to|bis|à)\s?\d{{1,3}})?(?:\s{_PORTIONS})?"
    rf"|\(?(?:op\sbasis\svan\s)?(?:\d{{1,3}}\s?)?{_PORTIONS}\.?\)?"
    r"|(?:makes|yields?)\b\W{0,2}(?:about|approx\w{0,9}\.?|around)?\s?\d.{0,40}"
    rf"|(?:dosi|ingredien\w{{1,5}}|ingrédients|zutaten)\s(?:per|für|pour|para|for|voor|för)\s\d{{1,3}}"
    rf"(?:\s?(?:[-–]|to|bis|à)\s?\d{{1,3}})?\s{_PORTIONS}"
    r"|(?:have\syou\s|did\syou\s)?(?:made|make|tried|try)\s(?:it|this)(?:\srecipe)?\?.{0,40}"
    r"|adjust\s(?:the\s)?(?:servings?|portions?)(?:\s.{0,12})?|shopping\slist|en\slire\splus|serves|servings?"
    r"|(?:(?:number|amount)\sof\s)?(?:servings?|portions?|people)(?:\s(?:size|amount|count))?"
    r"|(?:anzahl\s(?:der\s)?)?(?:portionen|personen)|(?:nombre\sde\s)?(?:personnes|parts|portions)"
    r"|(?:aantal\s)?(?:personen|porties)|(?:número\sde\s)?(?:personas|raciones|porciones|porções)"
    r"|(?:numero\s(?:di\s)?)?(?:persone|porzioni)|(?:antal\s)?(?:portioner|personer)|(?:liczba\s)?porcji"
    r"|annons(?:e|er)?|advert|reklama?|publicidade?|pubblicità|advertentie|.{0,20}(?:la\spublicité|efter\sannonsen|continues\sbelow).{0,20}"
    r"|(?:prevent|disable)\s(?:sleep|screen).{0,40}"
    r"|.{0,30}\b(?:skærmen|skärmen|skjermen|bildschirm|scherm|écran|pantalla|schermo)\b.{0,30}"
    r"|(?:(?:pr[eé]p\w*|cook\w*|total|active|rest\w*|bak\w*|temps\s(?:de\s\w+|total)|\w{0,12}zeit|cuisson|repos)"
    rf"(?:\s?time)?\s?:?\s?)?(?:{_TIME}\s?){{1,2}}"
    rf"|{_NUTRIENTS}(?:\s?:?\s?\d[\d.,]{{0,6}}\s?(?:k?cal|kj|g|mg|%)?){{1,4}}|\d[\d.,]{{0,6}}\s?(?:kcal|kj|calories)"
    r")\W*",
    re.IGNORECASE,
)
"""Strings near ingredients and steps: buttons, times, servings, calories."""
MAX_CONTROL_CHARS = 60
NOT_A_STEP = re.compile(
    r"(?:copyright|©|\(c\))\s?(?:©\s?)?(?:19|20)\d\d\b"
    r"|\b(?:all\srights\sreserved|alle\srechte\svorbehalten|alle\srechten\svoorbehouden|tous\sdroits\sréservés|"
    r"todos\slos\sderechos|todos\sos\sdireitos|tutti\si\sdiritti|is\sa\s(?:registered\s)?trademark\sof)\b"
    r"|\A(?:see\salso|read\s(?:also|next|more)|you\s(?:may|might)\salso\slike|more\srecipes|ook\slekker|lees\sook|"
    r"bekijk\sook|auch\slecker|das\skönnte\s.{2,20}gefallen|lesen\ssie\sauch|à\slire\saussi|lire\saussi|"
    r"(?:te\s)?puede\sinteresar(?:te)?|lee\stambién|leggi\sanche|prova\sanche|veja\stambém|leia\stambém|"
    r"läs\sockså|prova\sockså|les\sogså|læs\sogså|prøv\sogså|zobacz\s(?:też|także|również))\s?:"
    r"|\bnot\sable\sto\sanswer\s(?:any\s)?questions\b|\A\d{1,2}\s?[/|]\s?\d{1,2}\Z"
    r"|\A(?:click|tap|klicke?|klik\w*|cliquez|haz\sclic|clicca|clique|vælg|velg|välj|kliknij)\b"
    r".{1,40}(?:\bstars?\b|stern|étoile|estrella|stelle|estrela|\bster(?:ren)?\b|stjern|stjärn|gwiazd)"
    r"|\A(?:average\srating|durchschnittliche\sbewertung|note\smoyenne|valoración\smedia|gemiddelde\sbeoordeling|"
    r"valutazione\smedia)\b\W{0,3}\d|\Abe\sthe\sfirst\sto\s(?:rate|review|comment)\b",
    re.IGNORECASE,
)
"""Lines among steps: copyright, links to other pages, picture numbers (`1/12`), ratings."""
_UNITS = (
    r"g|gr|grams?|gramm?|kg|mg|ml|cl|dl|l|lbs?|pounds?|oz|ounces?|cups?|c|tsps?|teaspoons?|tbsp?s?|"
    r"tablespoons?|pinch|cloves?|cans?|sticks?|slices?|el|tl|essl\S*|teel\S*|prisen?|stück|stk|stuks|"
    r"bund|msk|tsk|krm|spsk|ss|ts|cs|cc|c[àa]s|c[àa]c|cuill\S*|gousses?|cucharad\S*|tazas?|xícaras?|"
    r"colher\S*|cucchiai\S*|szt|łyż\S*|szklan\S*|ek|tk|kk|克|毫升|茶匙|汤匙|大さじ|小さじ|个"
)
_NUMBER = r"(?:\d[\d.,/\s–-]{0,8}[¼½¾⅓⅔⅛]?|[¼½¾⅓⅔⅛⅜]|an?\s|half\s)"
_AMOUNT = re.compile(rf"\W{{0,3}}{_NUMBER}\s?\S", re.IGNORECASE)
_MEASURED = re.compile(rf"\W{{0,3}}{_NUMBER}\s?(?:{_UNITS})(?![^\W\d])", re.IGNORECASE)
_AMOUNT_LAST = re.compile(
    rf"[^\W\d]\W{{1,3}}{_NUMBER}\s?(?:{_UNITS}|unid|unidades?|q\.?\s?b|stk|pz|pcs?)?\.?\Z",
    re.IGNORECASE,
)
_MEASURED_OR_NUMBER = re.compile(
    rf"\A\W{{0,3}}{_NUMBER}\s?(?:(?:{_UNITS})(?![^\W\d]))?\.?", re.IGNORECASE
)
BARE_AMOUNT = re.compile(
    rf"(?:\d[\d.,/\s–-]{{0,8}}[¼½¾⅓⅔⅛]?|[¼½¾⅓⅔⅛⅜])\s?(?:{_UNITS})?\.?|(?:{_UNITS})\.?",
    re.IGNORECASE,
)
"""An amount or a unit without an ingredient."""
_SENTENCE_END = re.compile(r"[.!?。！]['\")»”]?(?:\s|$)|[。！]")
_MIN_MEAN_STEP_CHARS = 45
"""Ingredients are rarely longer than this. Steps are at least this long on average."""


def count_amounts(entries: list[str]) -> int:
    """Return how many of `entries` begin with an amount."""
    return sum(_AMOUNT.match(entry) is not None for entry in entries)


def starts_with_measure(entry: str) -> bool:
    """Return True for an entry that begins with an amount in a known unit: `2 cups flour`."""
    return _MEASURED.match(entry) is not None


def without_amount(entry: str) -> str:
    """Return an entry without its leading amount: `500 g flour` becomes `flour`."""
    return _MEASURED_OR_NUMBER.sub("", entry, count=1)


def count_measured(entries: list[str]) -> int:
    """Return how many of `entries` begin or end with an amount: `2 eggs`, `Butter 40 g`."""
    return sum(
        _AMOUNT.match(entry) is not None or _AMOUNT_LAST.search(entry) is not None
        for entry in entries
        if any(map(str.isalpha, entry)) and not _STARTS_WITH_TIME.match(entry)
    )


_STARTS_WITH_TIME = re.compile(_TIME, re.IGNORECASE)
"""A duration such as `30 min` before a word such as `easy` is not an amount."""


def are_ingredients(entries: list[str]) -> bool:
    """
    Return True for entries that are ingredients even without a heading.

    Most must be short and have amounts, and at least two must have known units.
    """
    if len(entries) < 3 or sum(map(len, entries)) > 80 * len(entries):
        return False
    measured_count = sum(_MEASURED.match(entry) is not None for entry in entries)
    return measured_count >= 2 and 5 * count_amounts(entries) >= 3 * len(entries)


def are_steps(entries: list[str]) -> bool:
    """Return True for long enough sentences, few of which begin with an amount."""
    total_chars = sum(map(len, entries))
    return (
        total_chars
        >= (_MIN_MEAN_STEP_CHARS if any(map(str.isascii, entries)) else 15) * len(entries)
        and 2 * sum(_SENTENCE_END.search(entry) is not None for entry in entries) >= len(entries)
        and 3 * count_amounts(entries) <= len(entries)
    )


def has_sentence(text: str) -> bool:
    """Return True for a string that continues after a sentence: `Boil the milk. Add the salt`."""
    return _SENTENCE_BREAK.search(text) is not None


_SENTENCE_BREAK = re.compile(r"[^\W\d]{2}[.!]\s+[^\W\d_a-z]|[。！]\s*[^\W\d_]")


def are_listed_steps(entries: list[str]) -> bool:
    """
    Return True for list items that may be steps, with several words each and few amounts.

    Numbered steps often have no periods.
    """
    phrase_count = sum(len(entry.split()) > 1 or not entry.isascii() for entry in entries)
    return 4 * phrase_count >= 3 * len(entries) and 3 * count_amounts(entries) <= len(entries)


def is_repeated_heading(text: str) -> bool:
    """Return True for a heading repeated above its list, possibly with a time."""
    if len(text) > _MAX_HEADING_CHARS or text[-1:] in _SENTENCE_ENDS:
        return False
    heading, _, time = text.partition(" ")
    while time and not is_duration(time):
        word, _, time = time.partition(" ")
        heading = f"{heading} {word}"
    return (
        INGREDIENTS_HEADING.fullmatch(heading) is not None
        or STEPS_HEADING.fullmatch(heading) is not None
    )


_MAX_HEADING_CHARS = 40


def is_how_to_title(heading: str) -> bool:
    """
    Return True for a heading such as `How to make leek soup`.

    Unlike `Directions`, which is always above steps, such a heading may be above prose or be the
    page's title.
    """
    return _HOW_TO_TITLE.match(heading) is not None


def needs_a_list(heading: str) -> bool:
    """
    Return True for a heading such as `Come fare la zuppa`, which names steps only above a list.

    In languages other than English, such a heading is usually an article's title.
    """
    return _NEEDS_A_LIST.fullmatch(heading) is not None and not _ALSO_NAMES_STEPS.fullmatch(heading)


_ALSO_NAMES_STEPS = re.compile(r"(?:zo|hoe)\smaak\sje\shet\W?", re.IGNORECASE)


def is_duration(text: str) -> bool:
    """Return True for a string that is only a duration: `20 min`, `1 h 30`."""
    return len(text) <= _MAX_DURATION_CHARS and _ONLY_DURATION.fullmatch(text) is not None


_MAX_DURATION_CHARS = 30
_ONLY_DURATION = re.compile(
    r"(?:(?:ca|circa|about|env|environ|approx)\.?\s)?(?:\d[\d\s.,/½¼¾–-]{0,8}"
    r"(?:h(?:ours?|rs?|eures?|oras?)?|std|stunden?|uur|uren|or[ae]|godz|timer?|tim|m(?:in(?:s|ut\w{0,4})?)?)\b"
    r"[.\s]{0,3}(?:\d{1,2}(?!\S))?){1,2}",
    re.IGNORECASE,
)


def begins_next_part(text: str) -> bool:
    """Return True for a line such as `Notes:`, but not for `About 30 minutes before serving, …`."""
    return (
        len(text) <= _MAX_NEXT_PART_CHARS
        and text[-1:] not in _SENTENCE_ENDS
        and not any(map(str.isdigit, text))
        and NEXT_PART_HEADING.fullmatch(text) is not None
    )


_MAX_NEXT_PART_CHARS = 60


def is_step(text: str) -> bool:
    """Return True for a sentence or a long text, but not for a caption, a button or a duration."""
    min_chars = _MIN_STEP_CHARS if text.isascii() else _MIN_STEP_CHARS // 2
    if len(text) >= min_chars:
        return True
    return text[-1:] in _SENTENCE_ENDS and text.lstrip(_NUMBER_CHARS)[:1].isalpha()


_MIN_STEP_CHARS = 30
_SENTENCE_ENDS = tuple(".!。！")
_NUMBER_CHARS = "0123456789.:)、- "


def mentions_recipe(words: Words, language: str | None) -> bool:
    """Return True if a page has a word for ingredients, or the unit `tsp` or `tbsp`."""
    if "ingred" in words or any(map(words.is_whole_word, UNITS)):
        return True
    code = (language or "").lower()[:2]
    if not code:
        return words.any(_INGREDIENTS_WORDS)
    if code == "en":  # templates declare en by default, whatever the page's language
        return words.any(_NON_ASCII_WORDS)
    return code in INGREDIENTS and words.any(INGREDIENTS[code])


_INGREDIENTS_WORDS = tuple(word for code, words in INGREDIENTS.items() if code for word in words)
_NON_ASCII_WORDS = tuple(word for word in _INGREDIENTS_WORDS if not word.isascii())
