"""
Renders pages that need JavaScript, in a browser without network access.

Public:

    renderer  renders pages from ordinary threads
    browser   starts Chromium and limits its processes
    models    the input and the result of rendering a page
"""
