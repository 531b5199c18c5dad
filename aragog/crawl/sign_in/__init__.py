"""
Sign-in by form, to sites that the operator owns: the form and the session.

Public:

    forms     `SignInForm`: the fields that a browser would send
    sessions  `Sessions`: the cookies of each origin and crawl, in Redis
"""
