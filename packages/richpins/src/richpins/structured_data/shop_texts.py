"""
Find the labels and phrases of shops in a page, in one pass over its bytes.

The pass starts at the first h1, skips scripts and styles, and happens only on pages about a
product.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ahocorasick_rs import BytesAhoCorasick, Implementation

# The lists cover about 25 languages, in lower case. Only the ASCII letters of a page are lowered,
# so words that begin with another letter are also listed with a capital.
BRAND_LABELS = (
    "brand", "brand name", "marke", "marque", "marca", "merk", "märke", "varumärke", "mærke",
    "merke", "značka", "znacka", "marka", "márka", "brändi", "tuotemerkki", "kaubamärk",
    "blagovna znamka", "brend", "zīmols", "prekės ženklas", "thương hiệu", "бренд", "Бренд",
    "марка", "Марка", "торговая марка", "Торговая марка", "ブランド", "브랜드", "品牌", "μάρκα",
    "Μάρκα",
)  # fmt: skip
MAKER_LABELS = (
    "manufacturer", "make/manufacturer", "hersteller", "fabricant", "fabricante", "produttore",
    "fabrikant", "tillverkare", "producent", "produsent", "výrobca", "výrobce", "proizvajalec",
    "proizvođač", "proizvodjac", "gyártó", "producător", "producator", "valmistaja", "tootja",
    "ražotājs", "gamintojas", "üretici", "производитель", "Производитель", "виробник", "Виробник",
    "メーカー", "제조사",
)  # fmt: skip
SKU_LABELS = (
    "sku", "asin", "item sku", "product sku", "item number", "item no", "item code", "item id",
    "item #",
    "article number", "article no", "product code", "product id", "product number",
    "catalog number", "stock code", "artikelnummer", "artikel-nummer", "artikelnr", "artikel-nr",
    "art.-nr", "art. nr", "art.nr", "bestellnummer", "bestell-nr", "produktnummer", "référence",
    "reference", "réf", "référence produit", "referencia", "referência", "código", "codigo",
    "código do produto", "código de producto", "id produto", "codice articolo", "codice prodotto",
    "codice", "cod. articolo", "cod produs", "artikelcode", "productcode", "varenummer", "varenr",
    "tuotenumero", "tuotekoodi", "tootekood", "kod produktu", "kód", "kód produktu", "kód zboží",
    "kód tovaru", "šifra", "Šifra", "šifra artikla", "cikkszám", "termékkód", "ürün kodu",
    "Ürün kodu", "stok kodu", "mã sản phẩm", "артикул", "Артикул", "код товара", "Код товара",
    "код товару", "Код товару", "商品コード", "品番", "商品编号", "商品編號", "货号", "상품번호",
    "κωδικός", "Κωδικός",
)  # fmt: skip
CATEGORY_LABELS = (
    "category", "categories", "product category", "kategorie", "kategorien", "catégorie",
    "catégories", "categoría", "categorías", "categoria", "categorias", "categorie", "categorieën",
    "kategori", "kategorier", "kategoria", "kategória", "kategorija", "kategoorija", "категория",
    "Категория", "категорія", "Категорія", "カテゴリー", "カテゴリ", "카테고리", "分类", "分類",
)  # fmt: skip
MPN_LABELS = (
    "mpn", "manufacturer part number", "manufacturer's part number", "manufacturer number",
    "manufacturer code", "manufacturer sku", "mfr. part number", "mfr part number",
    "mfg part number", "part number", "part no", "model number", "model no", "model name / number",
    "model name/number", "item model number", "herstellernummer", "hersteller-nr",
    "herstellerartikelnummer", "hersteller-artikelnummer", "herstellerteilenummer", "modellnummer",
    "modell-nr", "número de modelo", "número do modelo", "numéro de modèle", "référence fabricant",
    "référence constructeur", "referencia del fabricante", "codice produttore", "numero modello",
    "modelnummer", "modellbeteckning", "kod producenta", "kód výrobcu", "kód výrobce",
    "part-nummer", "produktové číslo", "ražotāja kods", "gyártói cikkszám", "код производителя",
    "Код производителя", "型番", "型號", "型号",
)  # fmt: skip
GTIN_LABELS = (
    "ean", "ean code", "ean-code", "ean-nummer", "ean-13", "ean13", "kod ean", "ean kód", "gtin",
    "gtin-13", "gtin/ean", "ean/gtin", "upc", "upc code", "barcode", "bar code", "código de barras",
    "código ean", "code-barres", "codice ean", "jan code", "janコード", "штрихкод", "Штрихкод",
)  # fmt: skip
STOCK_LABELS = (
    "availability", "stock status", "verfügbarkeit", "lieferbarkeit", "disponibilité",
    "disponibilidad", "disponibilidade", "disponibilità", "beschikbaarheid", "lagerstatus",
    "lagersaldo", "dostupnost", "dostupnosť", "dostępność", "razpoložljivost", "raspoloživost",
    "elérhetőség", "disponibilitate", "saatavuus", "pieejamība", "наличие", "Наличие", "наявність",
    "Наявність", "在庫", "재고", "διαθεσιμότητα", "Διαθεσιμότητα", "stock", "stock level",
    "lagerbestand", "voorraad", "stan magazynowy",
)  # fmt: skip
STOCK_COUNT_LABELS = (
    "in stock", "auf lager", "en stock", "in voorraad", "op voorraad", "på lager", "i lager",
    "skladem", "skladom", "na stanie",
)  # fmt: skip
"""Phrases for `in stock` that are labels too, next to a count."""
LABELS = (
    *BRAND_LABELS, *MAKER_LABELS, *SKU_LABELS, *MPN_LABELS, *GTIN_LABELS, *STOCK_LABELS,
    *STOCK_COUNT_LABELS, *CATEGORY_LABELS,
)  # fmt: skip

IN_STOCK = (
    "in stock", "item in stock", "left in stock", "available in stock", "auf lager",
    "sofort lieferbar", "sofort verfügbar", "en stock", "disponibile subito", "em estoque",
    "em stock", "op voorraad", "i lager", "på lager", "varastossa", "skladem", "na sklade",
    "skladom", "na skladě", "na zalogi", "na stanju", "na zalihi", "w magazynie", "în stoc",
    "raktáron", "készleten", "в наличии", "В наличии", "есть в наличии", "Есть в наличии",
    "в наявності", "В наявності", "laos olemas", "ir noliktavā", "stokta var", "在庫あり", "有货",
    "現貨", "재고 있음", "finns i lager", "direct leverbaar", "uit voorraad leverbaar", "vorrätig",
    "còn hàng", "stok tersedia", "มีสินค้า", "במלאי", "άμεσα διαθέσιμο", "Άμεσα διαθέσιμο",
)  # fmt: skip
OUT_OF_STOCK = (
    "out of stock", "sold out", "currently unavailable", "temporarily out of stock",
    "currently out of stock", "temporarily unavailable", "currently sold out", "nicht auf lager",
    "derzeit nicht verfügbar", "zurzeit nicht verfügbar", "zur zeit nicht verfügbar",
    "momentan nicht verfügbar", "nicht lieferbar", "ausverkauft", "vergriffen", "rupture de stock",
    "en rupture de stock", "épuisé", "Épuisé", "agotado", "sin stock", "esaurito",
    "non disponibile", "esgotado", "sem stock", "sem estoque", "uitverkocht", "niet op voorraad",
    "slutsåld", "slut i lager", "ej i lager", "udsolgt", "utsolgt", "ikke på lager", "loppuunmyyty",
    "tilapäisesti loppu", "vyprodáno", "vypredané", "není skladem", "nie je na sklade",
    "nie je skladom", "wyprzedany", "brak w magazynie", "produkt niedostępny", "stoc epuizat",
    "elfogyott", "nincs raktáron", "нет в наличии", "Нет в наличии", "немає в наявності",
    "Немає в наявності", "rasprodano", "razprodano", "ni na zalogi", "nema na zalihi", "tükendi",
    "läbi müüdud", "izpārdots", "išparduota", "在庫切れ", "品切れ", "품절", "售罄", "缺货",
    "已售完", "sold-out",
    "sold out online", "out of stock online", "not available online", "no longer available",
    "not available for purchase", "this item cannot be purchased",
    "this product cannot be purchased", "der artikel kann derzeit nicht gekauft werden",
    "dieser artikel kann derzeit nicht gekauft werden",
    "der artikel kann derzeit nicht bestellt werden",
    "dieser artikel kann derzeit nicht bestellt werden", "cet article ne peut pas être commandé",
    "este producto no se puede comprar", "questo prodotto non può essere acquistato",
    "dit artikel kan niet worden besteld", "produktu nelze objednat", "nie można kupić",
    "not in stock", "nicht mehr lieferbar", "nicht mehr verfügbar", "nicht mehr erhältlich",
    "derzeit nicht lieferbar", "zurzeit nicht lieferbar", "zur zeit nicht lieferbar",
    "momentan nicht lieferbar", "aktuell nicht verfügbar", "aktuell nicht lieferbar",
    "derzeit ausverkauft", "leider ausverkauft", "online ausverkauft", "plus disponible",
    "actuellement indisponible", "temporairement indisponible", "produit indisponible",
    "article indisponible", "produit épuisé", "actualmente no disponible",
    "temporalmente agotado", "producto agotado", "attualmente non disponibile",
    "momentaneamente non disponibile", "non più disponibile", "prodotto esaurito",
    "indisponível no momento", "temporariamente indisponível", "produto indisponível",
    "produto esgotado", "tijdelijk uitverkocht", "niet leverbaar", "tijdelijk niet leverbaar",
    "niet meer leverbaar", "momenteel niet leverbaar", "niet meer verkrijgbaar",
    "tillfälligt slut", "tillfälligt slut i lager", "midlertidig utsolgt",
    "midlertidigt udsolgt", "ei varastossa", "chwilowo niedostępny", "tymczasowo niedostępny",
    "produkt chwilowo niedostępny", "produkt wyprzedany", "momentálně nedostupné",
    "dočasně nedostupné", "stokta yok", "нет на складе", "Нет на складе", "товар закончился",
    "Товар закончился", "распродано", "Распродано", "完売", "売り切れ", "販売終了", "无货",
    "已售罄", "補貨中", "일시품절", "재고 없음", "hết hàng", "stok habis", "สินค้าหมด",
    "غير متوفر", "نفدت الكمية", "אזל מהמלאי", "εξαντλημένο", "Εξαντλημένο", "εξαντλήθηκε",
    "Εξαντλήθηκε",
)  # fmt: skip
LATER = (
    "on backorder", "available on backorder", "backordered", "on back order", "more on order",
    "on order", "nachbestellt", "sur commande", "en commande", "bajo pedido", "sob encomenda",
    "su ordinazione", "op bestelling", "beställningsvara", "bestillingsvare", "na objednávku",
    "na zamówienie", "под заказ", "Под заказ", "取り寄せ", "お取り寄せ",
)  # fmt: skip
"""Phrases for what a shop has to order first."""
PREORDER_BUTTON_LABELS = frozenset(
    {
        "pre-order",
        "pre-order now",
        "preorder",
        "preorder now",
        "pre order",
        "pre order now",
        "vorbestellen",
        "jetzt vorbestellen",
        "précommander",
        "pré-commander",
        "reservar ahora",
        "preordina",
        "preordina ora",
        "comprar na pré-venda",
        "förbeställ",
        "forudbestil",
        "forhåndsbestill",
        "przedsprzedaż",
        "zamów w przedsprzedaży",
        "předobjednat",
        "predobjednať",
        "előrendelés",
        "предзаказ",
        "оформить предзаказ",
        "予約する",
        "予約注文",
        "예약구매",
        "预订",
        "預購",
    }
)
NOTICE_BUTTON_LABELS = frozenset(
    {
        "notify me", "notify me when available", "notify me when in stock", "auto notify",
        "notify when available", "email me", "email me when available", "get notified",
        "email me when back in stock", "email when available", "join the waitlist", "join waitlist",
        "sign up for restock notifications", "alert me", "remind me", "let me know",
        "benachrichtigen", "benachrichtige mich", "benachrichtigen sie mich",
        "mich benachrichtigen", "bei verfügbarkeit benachrichtigen", "erinnern", "prévenez-moi",
        "me prévenir", "m'avertir", "m'alerter", "alerte stock", "être alerté", "avísame",
        "avisarme", "notificarme",
        "avísenme", "avisadme", "avvisami", "avvertimi", "avise-me", "avisar-me", "notifique-me",
        "me avise", "houd mij op de hoogte", "mail mij", "breng mij op de hoogte", "bevaka",
        "bevaka produkt", "meddela mig", "giv mig besked", "gi meg beskjed", "varsle meg",
        "ilmoita saatavuudesta", "hlídat dostupnost", "hlídat", "strážiť dostupnosť",
        "sledovat dostupnost", "powiadom o dostępności", "powiadom mnie", "powiadom",
        "értesítést kérek", "értesítsen", "anunță-mă", "notifică-mă", "obavijesti me",
        "obvesti me", "уведомить о поступлении", "сообщить о поступлении", "уведомить",
        "повідомити", "повідомити про наявність", "haber ver", "gelince haber ver",
        "入荷通知", "再入荷通知", "입고알림", "재입고 알림", "到货通知", "到貨通知",
    }
)  # fmt: skip
"""Labels of buttons in place of the cart that ask for a message when the product is back."""
STOCK_PHRASES = (*IN_STOCK, *OUT_OF_STOCK, *LATER)

LABELED_IN_STOCK = frozenset(
    {
        *IN_STOCK, "yes", "available", "available now", "verfügbar", "lieferbar", "vorrätig",
        "disponible", "disponibile", "disponível", "beschikbaar", "tillgänglig", "dostupné",
        "dostępny", "dostępne", "disponibil", "saatavilla", "pieejams", "laos",
    }
)  # fmt: skip
"""Phrases that mean `in stock` next to a stock label. Elsewhere, only those in `IN_STOCK` do."""
LABELED_OUT_OF_STOCK = frozenset(
    {
        *OUT_OF_STOCK, "no", "unavailable", "not available", "nicht verfügbar", "indisponible",
        "no disponible", "indisponível", "niet beschikbaar", "nedostupné", "niedostępny",
        "indisponibil",
    }
)  # fmt: skip

BUY_BUTTON_LABELS = frozenset(
    {
        "add to cart", "add to basket", "add to bag", "add to shopping cart", "add to trolley",
        "buy now", "buy it now", "in den warenkorb", "in den einkaufswagen",
        "zum warenkorb hinzufügen", "in den korb", "jetzt kaufen", "ajouter au panier", "acheter",
        "acheter maintenant", "añadir al carrito", "añadir a la cesta", "agregar al carrito",
        "comprar", "comprar ahora", "comprar agora", "adicionar ao carrinho", "adicionar à sacola",
        "colocar no carrinho", "aggiungi al carrello", "acquista", "acquista ora", "in winkelwagen",
        "in winkelmand", "toevoegen aan winkelwagen", "in mijn winkelwagen", "lägg i varukorg",
        "lägg i varukorgen", "lägg i kundvagn", "köp", "läg i kurv", "læg i kurv",
        "tilføj til kurv", "legg i handlekurv", "legg i handlekurven", "kjøp", "lisää ostoskoriin",
        "lisää koriin", "do koszyka", "dodaj do koszyka", "kup teraz", "do košíka", "do košíku",
        "vložit do košíku", "vložiť do košíka", "přidat do košíku", "pridať do košíka", "koupit",
        "kúpiť", "v košarico", "dodaj v košarico", "u košaricu", "dodaj u košaricu",
        "dodaj u korpu", "kosárba", "kosárba teszem", "adaugă în coș", "adauga in cos", "în coș",
        "купить", "купить сейчас", "в корзину", "добавить в корзину", "купити", "в кошик",
        "додати в кошик", "sepete ekle", "hemen al", "lisa korvi", "lisa ostukorvi",
        "pievienot grozam", "ielikt grozā", "į krepšelį", "προσθήκη στο καλάθι",
        "thêm vào giỏ hàng", "mua ngay", "カートに入れる", "カートに追加", "장바구니 담기",
        "구매하기", "바로구매", "加入购物车", "加入購物車", "立即購買", "立即购买",
    }
)  # fmt: skip


MAX_OFFSETS = 100
MAX_BYTES = 1_048_576
"""Maximum bytes searched, not counting scripts and styles."""
_MAX_VISIBLE_RANGES = 2_000

_SEARCHED_TEXTS = list(dict.fromkeys((*LABELS, *STOCK_PHRASES)))
_AUTOMATON = BytesAhoCorasick(
    [word.encode() for word in _SEARCHED_TEXTS], implementation=Implementation.DFA
)  # fmt: skip
_HIDDEN_TAG = re.compile(rb"<(script|style)")


class ShopTexts:
    """The offsets of labels and phrases in a page's bytes (with ASCII letters in lower case)."""

    def __init__(self, lowered: bytes, heading_offset: int) -> None:
        """Search from `heading_offset`, the offset of the first h1; nothing if it is -1."""
        self._offsets: dict[str, list[int]] = {}
        for start, end in _visible_ranges(lowered, heading_offset):
            for index, offset, _ in _AUTOMATON.find_matches_as_indexes(
                lowered[start:end], overlapping=True
            ):
                offsets = self._offsets.setdefault(_SEARCHED_TEXTS[index], [])
                if len(offsets) < MAX_OFFSETS:
                    offsets.append(start + offset)

    def offsets(self, word: str) -> list[int]:
        return self._offsets.get(word, [])


def _visible_ranges(lowered: bytes, start: int) -> Iterator[tuple[int, int]]:
    bytes_left = MAX_BYTES
    for _ in range(_MAX_VISIBLE_RANGES if start >= 0 else 0):
        hidden_tag = _HIDDEN_TAG.search(lowered, start)
        end = hidden_tag.start() if hidden_tag else len(lowered)
        yield start, min(end, start + bytes_left)
        bytes_left -= end - start
        start = lowered.find(b"</" + hidden_tag[1], end) if hidden_tag and bytes_left > 0 else -1
        if start < 0:
            return
