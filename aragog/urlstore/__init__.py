"""The UrlStore: pages by any spelling or alias of their URL, which lead to the canonical one."""
