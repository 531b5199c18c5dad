"""Pages as one WACZ file, for `aragog store export` (docs/exports.md)."""

WRITES_FORMATS = {"wacz": "aragog.addons.wacz.export:export_wacz"}
