"""From a fetched body to what is stored of its page."""
