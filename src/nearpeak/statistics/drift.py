from collections import namedtuple

Change = namedtuple("Change", "first last step")


def changes(series):
    return [None for _ in series]
