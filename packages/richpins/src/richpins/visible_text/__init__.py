"""Find metadata in a page's visible text where its markup has none. No I/O."""
