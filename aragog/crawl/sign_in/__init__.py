"""
Sign-in by form, to sites of one's own: the form, and the session that it begins.

Public:

    forms     `SignInForm`: what a browser would send of a form
    sessions  `Sessions`: the cookies of each origin and crawl, in Redis
"""
