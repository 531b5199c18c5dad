"""The page type of a place: a restaurant, shop, hotel or sight."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from richpins._list_entries import find_page_addresses, has_address
from richpins.page_types import PageType
from richpins.provenance import Candidate
from richpins.structured_data.graph import Node
from richpins.structured_data.sources import Sources
from richpins.values import numbers, scalars
from richpins.values.opening_hours import parse_opening_hours
from richpins.values.ratings import Rating, read_rating


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """A postal address in parts, or in `text` if the page has it as one string."""

    street: str | None = None
    locality: str | None = None
    region: str | None = None
    postal_code: str | None = None
    country: str | None = None
    text: str | None = None


@dataclass(frozen=True, slots=True)
class Coordinates:
    """Latitude and longitude in degrees, WGS 84."""

    latitude: Decimal
    longitude: Decimal


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A place's location and contact details."""

    address: Address | None = None
    coordinates: Coordinates | None = None
    phone: str | None = None
    email: str | None = None
    price_range: str | None = None
    opening_hours: tuple[str, ...] = ()
    cuisines: tuple[str, ...] = ()
    menu_url: str | None = None
    map_url: str | None = None
    rating: Rating | None = None


TYPES = frozenset(
    """
    place localbusiness animalshelter archiveorganization automotivebusiness childcare dentist
    drycleaningorlaundry emergencyservice employmentagency entertainmentbusiness financialservice
    foodestablishment governmentoffice healthandbeautybusiness homeandconstructionbusiness
    internetcafe legalservice library lodgingbusiness medicalbusiness professionalservice
    radiostation realestateagent recyclingcenter selfstorage shoppingcenter sportsactivitylocation
    store televisionstation touristinformationcenter travelagency restaurant bakery barorpub
    brewery cafeorcoffeeshop distillery fastfoodrestaurant icecreamshop winery hotel motel hostel
    resort bedandbreakfast campground vacationrental skiresort touristattraction
    landmarksorhistoricalbuildings museum park beach mountain volcano bodyofwater lakebodyofwater
    riverbodyofwater seabodyofwater oceanbodyofwater waterfall city country state
    administrativearea civicstructure airport aquarium zoo artgallery amusementpark
    movietheater musicvenue performingartstheater eventvenue nightclub casino stadiumorarena
    placeofworship church catholicchurch mosque synagogue hindutemple buddhisttemple
    accommodation apartment apartmentcomplex house singlefamilyresidence residence
    gatedresidencecommunity room hotelroom suite campingpitch hospital physician pharmacy
    medicalclinic dayspa beautysalon hairsalon nailsalon healthclub golfcourse bowlingalley
    exercisegym publicswimmingpool tenniscomplex bookstore clothingstore computerstore
    conveniencestore departmentstore electronicsstore florist furniturestore gardenstore
    grocerystore hardwarestore hobbyshop homegoodsstore jewelrystore liquorstore mensclothingstore
    mobilephonestore movierentalstore musicstore officeequipmentstore outletstore pawnshop petstore
    shoestore sportinggoodsstore tireshop toystore wholesalestore bikestore autodealer autorepair
    autorental autobodyshop autopartsstore autowash gasstation bankorcreditunion accountingservice
    automatedteller insuranceagency policestation firestation school elementaryschool highschool
    middleschool collegeoruniversity preschool cemetery crematorium busstation busstop
    trainstation subwaystation taxistand bridge rvpark parkingfacility playground publictoilet
    plumber electrician locksmith movingcompany roofingcontractor housepainter hvacbusiness
    generalcontractor notary attorney postoffice courthouse cityhall embassy adultentertainment
    comedyclub touristdestination educationalorganization schooldistrict individualphysician
    physiciansoffice optician boatterminal canal continent covidtestingfacility
    defenceestablishment definedregion governmentbuilding legislativebuilding landform meetingroom
    motorcycledealer motorcyclerepair pond reservoir sportsclub tattooparlor
    """.split()
)


def read(sources: Sources, nodes: list[Node]) -> Place:
    """Return the place that `nodes` or Open Graph's place tags describe."""
    pick = sources.ledger.pick

    def text_field(name: str, *properties: str) -> str | None:
        return pick(f"place.{name}", scalars.text, sources.scalars(nodes, *properties))

    def url_field(name: str, *properties: str) -> str | None:
        return pick(
            f"place.{name}",
            lambda raw: _absolute_url(sources, raw),
            sources.scalars(nodes, *properties),
            expected="a URL",
        )

    return Place(
        address=pick(
            "place.address", address, _address_candidates(sources, nodes), expected="an address"
        ),
        coordinates=pick(
            "place.coordinates",
            coordinates,
            _coordinate_candidates(sources, nodes),
            expected="coordinates",
        ),
        phone=pick(
            "place.phone",
            _parse_phone,
            _phone_candidates(sources, nodes),
            expected="a phone number",
        ),
        email=pick("place.email", _parse_email, sources.scalars(nodes, "email")),
        price_range=text_field("price_range", "pricerange"),
        opening_hours=pick(
            "place.opening_hours",
            parse_opening_hours,
            sources.lists(nodes, "openinghours", "openinghoursspecification"),
        )
        or (),
        cuisines=pick("place.cuisines", scalars.words, sources.lists(nodes, "servescuisine")) or (),
        menu_url=url_field("menu_url", "hasmenu", "menu"),
        map_url=url_field("map_url", "hasmap", "map", "maps"),
        rating=read_rating(sources, "place.rating", nodes),
    )


def _absolute_url(sources: Sources, raw: Any) -> str | None:
    if isinstance(raw, Node):
        raw = raw.first("url") or raw.id
    return sources.absolute(raw) if isinstance(raw, str) else None


def _parse_email(raw: Any) -> str | None:
    text = scalars.text(raw)
    return text.removeprefix("mailto:") if text else None


def _address_candidates(sources: Sources, nodes: list[Node]) -> Iterator[Candidate]:
    yield from sources.scalars(nodes, "address", "location")
    parts = {
        name: sources.metas.first(
            *(
                f"{prefix}:{name.replace('_', separator)}"
                for prefix in _ADDRESS_PREFIXES
                for separator in "_-"
            )
        )
        for name in ("street_address", "locality", "region", "postal_code", "country_name")
    }
    if any(parts.values()):
        yield Candidate(parts, "opengraph", "business:contact_data")


_ADDRESS_PREFIXES = ("business:contact_data", "og", "place:contact_data", "restaurant:contact_info")


def address(value: Any) -> Address | None:
    """Return an address from a PostalAddress, a string, or Open Graph's parts."""
    if isinstance(value, dict):
        return Address(
            street=value["street_address"],
            locality=value["locality"],
            region=value["region"],
            postal_code=value["postal_code"],
            country=value["country_name"],
        )
    if isinstance(value, Node):
        nested_address = value.first("address")
        if isinstance(nested_address, Node) and not value.first("streetaddress", "addresslocality"):
            value = nested_address
        parsed = Address(
            street=_join_texts(value.all("streetaddress")),
            locality=scalars.text(value.first("addresslocality")),
            region=scalars.text(value.first("addressregion")),
            postal_code=scalars.text(value.first("postalcode")),
            country=scalars.text(value.first("addresscountry")),
            text=scalars.text(value.first("name", "address", "description")),
        )
        return parsed if parsed != Address() else None
    text = scalars.text(value)
    return Address(text=text) if text else None


def _join_texts(texts: list[Any]) -> str | None:
    return ", ".join(filter(None, map(scalars.text, texts[:5]))) or None


def _coordinate_candidates(sources: Sources, nodes: list[Node]) -> Iterator[Candidate]:
    yield from sources.scalars(nodes, "geo", "location")
    for node in nodes:
        for address in node.all("address"):
            if isinstance(address, Node):
                yield from sources.scalars([address], "geo")
        if "latitude" in node.properties:
            yield Candidate(node, node.syntax, f"{node.position}.latitude")
    for latitude, longitude in _COORDINATE_TAGS:
        values = (sources.metas.first(latitude), sources.metas.first(longitude))
        if all(values):
            yield next(sources.meta(latitude))._replace(value=values)
    for candidate in sources.meta("geo.position", "icbm"):
        yield candidate._replace(
            value=tuple(part.strip() for part in re.split(r"[;,]", candidate.value))
        )


_COORDINATE_TAGS = (
    ("place:location:latitude", "place:location:longitude"),
    ("og:latitude", "og:longitude"),
    ("business:contact_data:latitude", "business:contact_data:longitude"),
)


def coordinates(value: Any) -> Coordinates | None:
    """Return coordinates in the valid range, or None. Ignores 0, 0, which empty forms send."""
    if isinstance(value, Node):
        geo = value.first("geo")
        if isinstance(geo, Node):
            value = geo
        value = (value.first("latitude"), value.first("longitude"))
    if not isinstance(value, tuple) or len(value) != 2:
        return None
    latitude, longitude = (_parse_degrees(part) for part in value)
    if latitude is None or longitude is None or (latitude == 0 and longitude == 0):
        return None
    if abs(latitude) > 90 or abs(longitude) > 180:
        return None
    return Coordinates(latitude, longitude)


_DEGREES = re.compile(r"\s*+([-+]?\d{1,3}(?:[.,]\d++)?)\s*+°?\s*+([NSEW])?\s*+", re.IGNORECASE)


def _parse_degrees(value: Any) -> Decimal | None:
    if isinstance(value, int | float):
        return numbers.decimal(value)
    match = _DEGREES.fullmatch(value) if isinstance(value, str) else None
    if not match:
        return None
    number = Decimal(match[1].replace(",", "."))
    return -number if (match[2] or "").upper() in {"S", "W"} else number


def _phone_candidates(sources: Sources, nodes: list[Node]) -> Iterator[Candidate]:
    yield from sources.scalars(nodes, "telephone", "phone")
    for node in nodes:
        for item in node.all("address", "contactpoint"):
            if isinstance(item, Node):
                yield from sources.scalars([item], "telephone")
    yield from sources.meta("business:contact_data:phone_number", "og:phone_number")


def _parse_phone(value: Any) -> str | None:
    text = scalars.text(value)
    if not text or not 5 <= sum(char.isdigit() for char in text) <= 20 or len(text) > 60:
        return None
    return text.removeprefix("tel:").strip()


def _adjustment(sources: Sources, place: Node, og_type: str) -> int:
    """Lower the weight of a place on an article's page. It is often the site's own business."""
    is_article = og_type in {"article", "blog"} or "article:published_time" in sources.metas
    return -45 if is_article and not has_address(place, find_page_addresses(sources)) else 0


PAGE_TYPE = PageType(
    name="place",
    record=Place,
    schema_types=TYPES,
    weight=50,
    read=read,
    og_types=("place", "business.business", "restaurant.restaurant", "hotel", "restaurant"),
    adjustment=_adjustment,
    yields_to_others=True,
    credits_authors=False,
)
