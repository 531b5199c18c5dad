"""HTTP/2, implemented with nghttp2; requires the extra `http2`."""
