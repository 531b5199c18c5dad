"""HTTP/2, based on nghttp2. Needs the extra `http2`."""
