"""
Signs in with a form to sites that the operator owns.

Public:

    forms     `SignInForm`: the fields that a browser would send
    sessions  `Sessions`: cookies of an origin for one crawl, in Redis
"""
