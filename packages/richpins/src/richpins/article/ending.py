"""
Make a main text end where its article ends.

Extractors often keep what follows: lists under headings such as `You might also like`, invitations
to subscribe, comment or read on, and blocks from distant parts of the page.
"""

from __future__ import annotations

import re

from richpins.article.container import Container
from richpins.article.page_texts import PageTexts
from richpins.article.text_blocks import TextBlock

_MIN_SHARE_BEFORE = 0.5
"""An article does not end in the first half of its text."""
_MAX_SENTENCE_SHARE = 0.05
"""
If more than this fraction of the text is sentences below a heading, the article continues there.
"""
_MIN_SENTENCE_LETTERS = 60
_MAX_HEADING_CHARS, _MAX_INVITATION_LETTERS = 60, 300
_MIN_SHARE_INSIDE, _MIN_DISTANCE = 0.7, 4
"""
If a container has at least this fraction of a text, later blocks that are this many levels away
belong to another part of the page.
"""


def remove_ending(texts: PageTexts, blocks: list[TextBlock], container: Container | None) -> None:
    """Remove the blocks after an article, such as lists of other articles and invitations."""
    kept = [block for block in blocks if block.is_kept]
    if container is not None:
        kept = _without_far_blocks(kept, container)
    end = _end_of(kept, texts)
    while end > 1 and _is_after_article(kept[end - 1]):
        end -= 1
    for block in kept[end:]:
        block.remove()


def _without_far_blocks(kept: list[TextBlock], container: Container) -> list[TextBlock]:
    """Remove the blocks far after a text's container, and return the others."""
    distances = [container.distance(block) for block in kept]
    inside = [number for number, distance in enumerate(distances) if not distance]
    letters = sum(len(kept[number].letters) for number in inside)
    if letters < _MIN_SHARE_INSIDE * sum(len(block.letters) for block in kept):
        return kept
    left = []
    for number, (block, distance) in enumerate(zip(kept, distances, strict=True)):
        if number > inside[-1] and distance >= _MIN_DISTANCE:
            block.remove()
        else:
            left.append(block)
    return left


def _end_of(blocks: list[TextBlock], texts: PageTexts) -> int:
    """Return the index of the first heading after the article, or the number of blocks."""
    total = sum(len(block.letters) for block in blocks)
    before = 0
    for number, block in enumerate(blocks):
        if before >= _MIN_SHARE_BEFORE * total and _is_heading(block):
            sentences = sum(_sentence_letters(later, texts) for later in blocks[number + 1 :])
            return number if sentences <= _MAX_SENTENCE_SHARE * total else len(blocks)
        before += len(block.letters)
    return len(blocks)


def _is_heading(block: TextBlock) -> bool:
    """Return True for a heading that follows an article, such as `You might also like`."""
    if len(block.letters) > _MAX_HEADING_CHARS:
        return False
    text = block.text
    return len(text) <= _MAX_HEADING_CHARS and _HEADING.fullmatch(text) is not None


def _sentence_letters(block: TextBlock, texts: PageTexts) -> int:
    """Return a block's number of letters if it is a long sentence outside a list, else 0."""
    if block.weight < _MIN_SENTENCE_LETTERS or texts.kinds[block.number] == "entry":
        return 0
    return len(block.letters) if block.text.endswith(_ENDS) else 0


_ENDS = tuple('.!?"»)…。！？\u201d')


def _is_after_article(block: TextBlock) -> bool:
    """Return True for an invitation, and for a heading that follows an article."""
    if len(block.letters) > _MAX_INVITATION_LETTERS:
        return False
    return _INVITATION.match(block.text) is not None or _is_heading(block)


_HEADING = re.compile(
    r"(?:"
    r"(?:you\s(?:may|might|could)|we\sthink\syou.ll|people)\salso\s(?:like|be\sinterested|enjoy|love|read|viewed)\b.{0,30}|"
    r"also\sread|read\salso|"
    r"related(?:\s(?:articles?|stor(?:y|ies)|posts?|news|content|topics?|links|reading|coverage|products|videos?|items?|searches|questions))?|"
    r"(?:most|latest|top|more|recent|popular|trending|featured|recommended|other)\s(?:popular|read|viewed|shared|commented|stories|news|articles|posts|videos|headlines|recipes|products|slide\s?shows|content|reading|for\syou)(?:\s.{0,30})?|"
    r"more\s(?:from|on|in|about|like\sthis)\b.{0,40}|"
    r"more\s.{0,20}\b(?:news|stories|articles|posts|coverage)|featured\sslide\sshows|"
    r"read\s(?:more|next|on|this\snext)|what\sto\sread\snext|up\snext|next\sarticle|"
    r"previous\sarticle|(?:don.t|do\snot)\smiss|trending(?:\snow)?|recommended|editor.s\spicks?|"
    r"editors.\spicks?|"
    r"share(?:\s(?:this(?:\s(?:article|story|post|page|on)\b.{0,20})?|on\s\w{1,12}|via\s\w{1,12}))?|"
    r"follow\s(?:us|me)\b.{0,40}|(?:\d+\s)?comments?(?:\s\(?\d+\)?)?|"
    r"(?:leave|post|add|write)\sa\s(?:comment|reply|review).{0,20}|"
    r"join\sthe\s(?:conversation|discussion).{0,20}|no\scomments(?:\syet)?|"
    r"(?:.{0,30}\s)?newsletters?(?:\s.{0,20})?|subscribe(?:\s(?:to|now|today|here|for)\b.{0,40})?|sign\sup(?:\s(?:for|to|now|today)\b.{0,50})?|"
    r"stay\s(?:connected|in\stouch|up\sto\sdate|informed).{0,20}|"
    r"das\skönnte\s.{2,8}\sauch\s(?:interessieren|gefallen).{0,10}|mehr\szum\sthema.{0,30}|"
    r"zum\sthema|lesen\ssie\s(?:auch|mehr|dazu).{0,20}|lies\sauch.{0,20}|auch\sinteressant.{0,10}|"
    r"meistgelesen\w{0,2}.{0,20}|"
    r"(?:weitere|ähnliche|neueste|aktuelle|passende|verwandte)\s(?:artikel|meldungen|themen|nachrichten|beiträge|inhalte|videos).{0,20}|"
    r"kommentare.{0,12}|(?:artikel\s)?teilen|schlagworte|mehr\saus\s.{2,20}|"
    r"(?:à|a)\slire\s(?:aussi|également|ensuite).{0,20}|lire\saussi.{0,20}|"
    r"sur\sle\smême\s(?:sujet|thème).{0,20}|"
    r"(?:articles?|contenus?)\s(?:similaires|liés|associés|connexes|recommandés).{0,20}|"
    r"les\splus\s(?:lus|populaires).{0,20}|commentaires?.{0,12}|partager.{0,20}|"
    r"plus\sd.(?:articles|actualités|infos).{0,20}|"
    r"(?:también\s)?te\s(?:puede|podría|recomendamos|va\sa)\s.{0,20}|"
    r"(?:noticias|artículos|temas|contenidos?|notas)\srelacionad[oa]s.{0,20}|"
    r"lo\smás\s(?:leído|visto).{0,20}|más\snoticias.{0,20}|compartir.{0,20}|comentarios.{0,12}|"
    r"le[ae]\stambién|lee\smás|(?:ti\s)?potrebbe(?:ro)?\s(?:anche\s)?interessar\w{1,3}.{0,10}|"
    r"leggi\s(?:anche|pure).{0,10}|articoli\s(?:correlati|simili).{0,10}|"
    r"(?:i\s)?più\sletti.{0,10}|condividi.{0,20}|commenti.{0,10}|leia\s(?:também|mais).{0,20}|"
    r"veja\s(?:também|mais).{0,20}|"
    r"(?:notícias|artigos|matérias|conteúdos?|assuntos)\srelacionad[oa]s.{0,20}|"
    r"(?:as\s)?mais\slidas.{0,20}|compartilhe.{0,20}|comentários.{0,12}|"
    r"lees\s(?:ook|meer|verder).{0,20}|gerelateerd.{0,20}|meest\sgelezen.{0,20}|"
    r"meer\s(?:nieuws|over|van)\b.{0,30}|reacties.{0,12}|deel\s(?:dit|op|deze)\b.{0,20}|"
    r"läs\s(?:också|även|mer)\b.{0,20}|les\s(?:også|mer).{0,20}|læs\s(?:også|mere).{0,20}|"
    r"mest\s(?:lest|läst|læste?)\w?.{0,10}|relatera[dt]\w?.{0,20}|relater(?:t|ede).{0,20}|"
    r"kommentarer.{0,12}|dela\s(?:artikeln)?|"
    r"(?:czytaj|zobacz)\s(?:też|także|również|więcej).{0,20}|polecane.{0,20}|najczęściej\sczytane|"
    r"komentarze.{0,12}|udostępnij.{0,20}|читайте\sтакже.{0,20}|похожие\s.{3,20}|"
    r"(?:самое|самые)\s(?:читаемое|популярное|обсуждаемое|читаемые).{0,20}|комментарии.{0,12}|"
    r"поделиться.{0,20}|(?:читайте|дивіться)\sтакож.{0,20}|ilgili\shaberler|baca\sjuga.{0,20}|"
    r"berita\s(?:terkait|terpopuler).{0,10}|関連(?:記事|ニュース|リンク|キーワード).{0,6}|あわせて読みたい|人気記事.{0,6}|"
    r"(?:アクセス)?ランキング.{0,6}|相关(?:阅读|文章|新闻|推荐).{0,6}|相關(?:閱讀|文章|新聞).{0,6}|推荐阅读|延伸(?:阅读|閱讀)|"
    r"(?:热门|熱門|最新|热点)(?:文章|新闻|新聞|资讯|資訊|推荐|推薦|阅读|閱讀|话题)|猜你喜[欢歡]|(?:新着|最新)(?:記事|ニュース)|おすすめ(?:の)?記事|"
    r"관련\s?(?:기사|뉴스).{0,6}|많이\s?본\s?(?:기사|뉴스).{0,4}|(?:인기|최신)\s?(?:기사|뉴스)"
    r")\s?[:：!.…>»]{0,3}",
    re.IGNORECASE,
)
_INVITATION = re.compile(
    r"(?:"
    r"sign[\s-]?up\b(?=.{0,80}\b(?:newsletter|letter|e-?mails?|inbox|alerts|updates|daily|weekly|free)\b)|"
    r"(?:sign|log)[\s-]?in\s(?:to\s(?:comment|reply|post|vote|read|continue)|or)\b|"
    r"subscribe\s(?:to\s(?:our|the|my)|now|today|here|for)\b|(?:click|tap)\shere\b|"
    r"follow\s.{1,50}\son\s(?:facebook|twitter|x|instagram|google|linkedin|youtube|tiktok|threads|bluesky|whatsapp|telegram)\b|"
    r"join\s(?:our|the)\s(?:conversation|discussion|community|newsletter|commenting|mailing|forum|club)\b|"
    r"like\sus\son\b|share\s(?:this|your)\s(?:article|story|post|page|thoughts|opinion|views?)\b|tell\sus\swhat\b|"
    r"leave\sa\s(?:comment|reply|review)\b|loading\b|please\s(?:wait|log\s?(?:in|out)|sign\sin)\b|"
    r"you\smust\s(?:be\slogged|confirm|log)|thank(?:s|\syou)\sfor\s(?:signing|subscribing)|advertisement\b|"
    r"for\smore\s(?:stories|news)\b|more:|read\smore\b|read\salso\b|also\sread\b|related:|"
    r"get\sin\stouch\b|contact\s(?:us|the\s(?:author|writer))\b|"
    r"(?:have\s(?:you\sgot\s)?|do\syou\shave\s|got\s)a\s(?:story|tip)\b|download\s(?:the|our)\s.{0,20}\bapp\b|"
    r"get\s.{1,60}\b(?:newsletter|inbox|delivered)\b|powered\sby\b|topics?:|tags?:|filed\sunder\b|"
    r"categor(?:y|ies):|keywords?:|(?:photo|image|picture)s?:|"
    r"(?:lesen|sehen)\ssie\sauch|lies\sauch|mehr\szum\sthema|(?:jetzt\s)?abonnieren|folgen\ssie\suns|"
    r"hat\sihnen\s(?:der|dieser)\s(?:artikel|beitrag|text)|wie\shat\sihnen\s|schlagw(?:orte|örter):|themen:|"
    r"lire\saussi|à\slire\saussi|abonnez[\s-]vous|inscrivez[\s-]vous|suivez[\s-]nous|partagez\s(?:cet|sur)|"
    r"(?:lea|lee|leer|vea)\stambién|te\spuede\sinteresar|suscríb|síguenos|sigue\sa\s.{1,30}\sen\b|"
    r"leggi\sanche|iscriviti|seguici|leia\s(?:também|mais)|veja\stambém|inscreva-se|siga-nos|"
    r"lees\s(?:ook|meer|verder)|volg\sons\b|schrijf\sje\sin|läs\s(?:också|även|mer)|les\sogså|læs\sogså|"
    r"(?:czytaj|zobacz)\s(?:też|także|również)|читайте\sтакже|подпис(?:ывайтесь|аться)|baca\sjuga|"
    r"関連(?:記事|リンク|ニュース)|【?おすすめ|相关阅读"
    r")",
    re.IGNORECASE,
)
