"""
Rendering of pages that need JavaScript, in a browser without a network of its own.

Public:

    renderer  render pages from ordinary threads
    browser   one Chromium and its limits
    models    what goes into a rendering and what comes out
"""
