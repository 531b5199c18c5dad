"""HTTP/2 on the same connections, by nghttp2; needs the extra `http2`."""
