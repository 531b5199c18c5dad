"""Articles in Chinese, Japanese and Korean, whose sentences have fewer characters."""

from __future__ import annotations

import pytest

from richpins.document import parse
from richpins.main_text import TEXT, find

pytest.importorskip("trafilatura")

CHINESE = (
    "市议会星期二投票决定，游泳池将在冬季继续开放，此前围绕供暖费用的争论持续了两年。",
    "三个政党的议员支持这项计划，计划拨款四百万用于更换管道和修理屋顶。",
    "工程将于三月开始，儿童池在暑假之前将继续关闭。",
)
JAPANESE = (
    "市議会は火曜日、二年にわたる暖房費の議論の末、冬の間もプールを開けておくことを決めた。",
    "三つの党の議員がこの計画を支持し、配管と屋根の修理に四百万が充てられる。",
    "工事は三月に始まり、子ども用のプールは夏休みまで閉まったままである。",
)
KOREAN = (
    "시의회는 화요일에 난방비를 둘러싼 두 해의 논의 끝에 겨울에도 수영장을 열기로 했다.",
    "세 정당의 의원들이 이 계획을 지지했으며 배관과 지붕에 사백만이 쓰인다.",
    "공사는 삼월에 시작되고 어린이 수영장은 여름 방학까지 닫혀 있다.",
)
PAGES = {
    "zh": (CHINESE, "热门文章", "昨天的比赛结果令人惊讶"),
    "ja": (JAPANESE, "人気記事", "昨日の試合の結果に驚く"),
    "ko": (KOREAN, "많이 본 뉴스", "어제 경기 결과에 놀라다"),
}


@pytest.mark.parametrize("name", ["article", "txt", "box"])
@pytest.mark.parametrize("language", PAGES)
def test_short_article_is_found_without_the_menu_and_other_articles(language, name):
    sentences, heading, teaser = PAGES[language]
    paragraphs = "".join(f"<p>{each}</p>" for each in sentences)
    markup = (
        f'<html lang="{language}"><meta charset="utf-8"><title>{sentences[2][:6]}</title><body>'
        '<header><a href="/">Gazette</a><nav><ul><li><a href="/n">News</a></li></ul></nav></header>'
        f'<div class="wrap"><div class="main"><h1>{sentences[2][:6]}</h1><div class="{name}">{paragraphs}'
        f'</div></div><div class="side"><h3>{heading}</h3><ul><li><a href="/1">{teaser}</a></li></ul></div>'
        "</div></body></html>"
    )

    assert find(parse(markup.encode(), url="https://a.test/x"), TEXT) == "\n".join(sentences)
