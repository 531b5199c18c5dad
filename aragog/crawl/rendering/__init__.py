"""
Rendering of pages that need JavaScript, in a browser without network access.

Public:

    renderer  renders pages from ordinary threads
    browser   one Chromium and its limits
    models    the input and the result of a rendering
"""
