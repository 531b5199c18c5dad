"""Checks of what serves and of what extends aragog: addresses, certificates, standby, plug-ins."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator
from contextlib import closing

from aragog.cli.doctor.finding import Finding, Patient
from aragog.dashboard.exposure import check_flower_exposure
from aragog.errors import ConfigError, StoreUnavailable
from aragog.extras import has, require
from aragog.pipeline.permission.site_rules import take_up_site_rules
from aragog.serving.auth import check_exposure


def check_serving(patient: Patient) -> Iterator[Finding]:
    """The API and Flower are not open to other machines without a token or a login."""
    serving = patient.settings.serving
    where = f"HTTP on {serving.host}:{serving.http_port}"
    try:
        check_exposure(serving)
        if has("flower"):
            check_flower_exposure(serving.flower_host, os.environ)
            where += f", Flower on {serving.flower_host}:{serving.flower_port}"
    except ConfigError as error:
        yield Finding("serving", well=False, text=str(error))
        return
    yield Finding("serving", well=True, text=where)


def check_certificate(patient: Patient) -> Iterator[Finding]:
    """The certificate of the API and its key can be used."""
    if patient.settings.serving.tls_cert_file is not None:
        from aragog.serving.http import server  # noqa: PLC0415 - it imports uvicorn

        server.check_certificate(patient.settings.serving)
        text = f"{patient.settings.serving.tls_cert_file} fits its key"
        yield Finding("serving.tls_cert_file", well=True, text=text)


def check_standby(patient: Patient) -> Iterator[Finding]:
    """Each gateway of the standby answers, and its tables are there."""
    settings = patient.settings
    if not settings.serving.standby_gateways:
        return
    if settings.store.engine != "hbase":
        text = 'only an HBase store has a standby; set store.engine to "hbase"'
        yield Finding("serving.standby_gateways", well=False, text=text)
        return
    require("hbase", "serving.standby_gateways")
    from aragog.zen.tables.hbase import HBaseTables  # noqa: PLC0415 - 80 ms, only where used

    for gateway in settings.serving.standby_gateways:
        alone = dataclasses.replace(settings.store, hbase_gateways=(gateway,))
        try:
            with closing(HBaseTables(alone)) as engine:
                problems = engine.check()
        except StoreUnavailable as error:
            problems = [str(error)]
        text = "; ".join(problems) or "all tables are correct"
        yield Finding(f"standby {gateway}", well=not problems, text=text)


def check_extractors(patient: Patient) -> Iterator[Finding]:
    """The extractors of `pipeline.extractors` are installed on this machine."""
    names = patient.settings.pipeline.extractors
    if names:
        from aragog.pages.extractors import load  # noqa: PLC0415 - it imports the parsers

        load(names)
        yield Finding("pipeline.extractors", well=True, text=f"{', '.join(names)} can be loaded")


def check_site_rules(patient: Patient) -> Iterator[Finding]:
    """The file of query parameters by site can be read."""
    if patient.settings.site_rules_file is not None:
        take_up_site_rules(patient.settings)
        text = f"{patient.settings.site_rules_file} can be read"
        yield Finding("site_rules_file", well=True, text=text)
