"""
Signs in, with a form, to sites that the operator owns.

Public:

    forms     `SignInForm`: the fields that a browser would send
    sessions  `Sessions`: an origin's cookies for one crawl, in Redis
"""
