"""
Recognize texts found where an author's name is expected: `View Full Bio`, `著者一覧`.

They are link texts, headings above a name, account names, and signatures with a place, as below a
letter to the editor (`Ann Lee, Fargo, North Dakota`).
"""

from __future__ import annotations

import re

from richpins.values.placeholders import is_user_name

_PLACEHOLDER_AUTHOR = re.compile(
    r"(?:(?:view|see|read|show|browse|visit|more|meet|follow|about|contact|learn)\s+(?:(?:the|our|my|all|full|"
    r"more|this|his|her|their|about|by|from)\s+)*(?:bio(?:graphy)?|profile|posts?|articles?|stories|"
    r"authors?|writers?|team|contributors?|us|me|page|info|details|archives?)\b.{0,60}"
    r"|(?:full|author.?s?|short)\s+(?:bio(?:graphy)?|profile|page|archives?|info|details|box|name)"
    r"|(?:all|more|latest|recent|other)\s+(?:(?:posts?|articles?|stories|recipes|authors?)\b).{0,60}"
    r"|(?:posts?|articles?|stories)\s+(?:by|from)\b.{0,60}|(?:read|learn|show|see|view)\s+(?:more|less|all)"
    r"|authors?|writers?|bio(?:graphy)?|profile|contributors?|byline|unknown(?:\s+author)?|undefined|null"
    r"|(?:zum|zur)\s+(?:profil|autorenseite|autorenprofil).{0,40}|autorenprofil|autorinfo|autor(?:in|en)?"
    r"|alle\s+(?:artikel|beiträge|autoren).{0,40}|mehr\s+(?:von|über|lesen|anzeigen)\b.{0,40}"
    r"|über\s+(?:den|die)\s+autor(?:in|en)?"
    r"|voir\s+(?:tous|toutes|plus|le\s+profil|la\s+bio|sa\s+bio)\b.{0,40}|tous\s+(?:les|ses)\s+articles.{0,40}"
    r"|à\s+propos\s+de\s+l.auteur|lire\s+la\s+suite|auteurs?|en\s+savoir\s+plus"
    r"|ver\s+(?:todos|todas|más|mais|perfil|biografía|biografia)\b.{0,40}|sobre\s+(?:el|o|la|a)\s+auto(?:r|ra)"
    r"|todos\s+(?:los|os)\s+art[ií]\w+.{0,40}|autore[s]?|leggi\s+(?:di\s+più|tutto)|vedi\s+tutti.{0,40}"
    r"|tutti\s+gli\s+articoli.{0,40}|bekijk\b.{0,40}|alle\s+artikelen.{0,40}|over\s+de\s+auteur|lees\s+meer"
    r"|visa\s+alla.{0,40}|se\s+alle.{0,40}|les\s+mer|läs\s+mer|om\s+(?:författaren|forfatteren)"
    r"|wszystkie\s+artykuły.{0,40}|o\s+autorze|zobacz\b.{0,40}|все\s+(?:статьи|материалы|авторы).{0,40}"
    r"|об\s+авторе|подробнее|автор(?:ы)?|читать\s+далее|기사\s*더\s*보기|더\s*보기|기자\s*(?:구독|페이지|소개)"
    r"|(?:著者|筆者|執筆者|作者|记者|記者|ライター|編集者|寄稿者|投稿者|讲者)"
    r"|(?:著者|筆者|執筆者|作者|记者|記者|ライター|編集者|寄稿者|全部|所有)?(?:の)?"
    r"(?:一覧|一览|列表|紹介|情報|プロフィール|プロフィル|简介|簡介|介绍|介紹|について|記事一覧|文章|の記事)(?:を見る|へ)?"
    r"|もっと見る|続きを読む|查看(?:更多|全部|简介).{0,20}|更多(?:文章|作者).{0,20}|关于作者|關於作者)"
    r"\W{0,4}",
    re.IGNORECASE,
)
_PLACE_NAMES = frozenset(
    " ".join(name.lower().split())
    for name in """
    Afghanistan; Albania; Algeria; Andorra; Angola; Argentina; Armenia; Australia; Austria;
    Azerbaijan; Bahamas; Bahrain; Bangladesh; Barbados; Belarus; Belgium; Belize; Bolivia;
    Botswana; Brazil; Bulgaria; Cambodia; Cameroon; Canada; Chile; China; Colombia; Costa
    Rica; Croatia; Cuba; Cyprus; Czech Republic; Czechia; Denmark; Dominican Republic;
    Ecuador; Egypt; El Salvador; England; Estonia; Ethiopia; Fiji; Finland; France; Germany;
    Ghana; Greece; Guatemala; Haiti; Honduras; Hong Kong; Hungary; Iceland; India; Indonesia;
    Iran; Iraq; Ireland; Italy; Jamaica; Japan; Kazakhstan; Kenya; Kuwait; Laos; Latvia;
    Lebanon; Libya; Lithuania; Luxembourg; Malaysia; Malta; Mexico; Moldova; Monaco; Mongolia;
    Morocco; Mozambique; Myanmar; Namibia; Nepal; Netherlands; The Netherlands; New Zealand;
    Nicaragua; Nigeria; Northern Ireland; North Macedonia; Norway; Oman; Pakistan; Panama;
    Paraguay; Peru; Philippines; Poland; Portugal; Puerto Rico; Qatar; Romania; Russia;
    Rwanda; Saudi Arabia; Scotland; Senegal; Serbia; Singapore; Slovakia; Slovenia; Somalia;
    South Africa; South Korea; Korea; Spain; Sri Lanka; Sudan; Sweden; Switzerland; Syria;
    Taiwan; Tanzania; Thailand; Trinidad and Tobago; Tunisia; Turkey; Türkiye; Uganda;
    Ukraine; United Arab Emirates; UAE; U.A.E.; United Kingdom; UK; U.K.; United States;
    United States of America; USA; U.S.A.; US; U.S.; Uruguay; Uzbekistan; Venezuela; Vietnam;
    Wales; Yemen; Zambia; Zimbabwe; Deutschland; Österreich; Schweiz; Suisse; Svizzera;
    España; Italia; México; Brasil; Belgique; België; Nederland; Sverige; Norge; Danmark;
    Suomi; Polska; Česko; Magyarország; Россия; Украина; 日本; 中国; 台灣; Perú; Canadá; Alabama;
    Alaska; Arizona; Arkansas; California; Colorado; Connecticut; Delaware; Florida; Hawaii;
    Idaho; Illinois; Indiana; Iowa; Kansas; Kentucky; Louisiana; Maine; Maryland;
    Massachusetts; Michigan; Minnesota; Mississippi; Missouri; Nebraska; Nevada; New
    Hampshire; New Jersey; New Mexico; New York; North Carolina; North Dakota; Ohio; Oklahoma;
    Oregon; Pennsylvania; Rhode Island; South Carolina; South Dakota; Tennessee; Texas; Utah;
    Vermont; Washington; West Virginia; Wisconsin; Wyoming; Alberta; British Columbia;
    Manitoba; New Brunswick; Nova Scotia; Ontario; Quebec; Saskatchewan
    """.split(";")
)
"""Countries and North American states, except those that are first names (`Chad`, `Georgia`)."""
_MIN_SIGNATURE_PARTS = 3


def is_placeholder_author(text: str) -> bool:
    """Return True for a link text, a heading, an account name, or a name with a place."""
    if _PLACEHOLDER_AUTHOR.fullmatch(text) or is_user_name(text):
        return True
    parts = [part.strip(" .").lower() for part in text.split(",")]
    last_with_dots = text.rpartition(",")[2].strip().lower()
    ends_with_place = parts[-1] in _PLACE_NAMES or last_with_dots in _PLACE_NAMES
    is_signature = len(parts) >= _MIN_SIGNATURE_PARTS and ends_with_place
    return is_signature or parts == ["name", "city", "country"]
