"""The progress of URLs in flight: wait until they are done, and count those that are left."""
