"""The store stage: how a batch of fetched pages is planned and written."""
