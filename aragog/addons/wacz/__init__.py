"""Export pages as one WACZ file with `aragog store export` (docs/exports.md)."""

WRITES_FORMATS = {"wacz": "aragog.addons.wacz.export:export_wacz"}
