"""
Hosts with several traps each, and hosts without, by an author who had not seen the rules.

They were read while the rules were changed, so they show what was developed for, not more.
"""

from __future__ import annotations

from bench.traps.second.blog import Blog
from bench.traps.second.buses import Buses
from bench.traps.second.chess import Chess
from bench.traps.second.families import Family
from bench.traps.second.forum import Boards
from bench.traps.second.hotels import Hotels
from bench.traps.second.newspaper import Gazette
from bench.traps.second.paints import Paints
from bench.traps.second.photographs import Photos
from bench.traps.second.recipes import Recipes
from bench.traps.second.reference import Reference
from bench.traps.second.shop import Lamps
from bench.traps.second.tides import Tides
from bench.traps.second.town import City
from bench.traps.site import Site


def second_trapped_sites() -> list[Site]:
    return [City(), Lamps(), Boards(), Photos(), Tides(), Blog(), Hotels()]


def second_harmless_sites() -> list[Site]:
    return [Reference(), Paints(), Gazette(), Family(), Buses(), Recipes(), Chess()]
