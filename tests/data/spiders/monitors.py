"""Monitors of spidermon."""

from spidermon import Monitor, MonitorSuite


class ItemMonitor(Monitor):
    """spidermon, over the statistics of the process."""

    def test_items(self):
        self.assertGreater(self.data.stats["item_scraped_count"], 0)


class Monitors(MonitorSuite):
    monitors = [ItemMonitor]
