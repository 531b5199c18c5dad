"""An item pipeline that writes each item before passing it on."""

import json
import os


class WriteThrough:
    """Appends items to the file in the setting `WRITE_THROUGH`. Several processes may share it."""

    def __init__(self, path):
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    @classmethod
    def from_crawler(cls, crawler):
        return cls(crawler.settings["WRITE_THROUGH"])

    def process_item(self, item):
        os.write(self._file, json.dumps(item).encode() + b"\n")
        return item
