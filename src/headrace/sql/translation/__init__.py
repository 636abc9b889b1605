"""From physical plans to operators on streams of rows.

A stream carries plain tuples. Rows of a changelog end with their kind; a plan knows beforehand
which streams are changelogs, so a stream of inserts costs nothing extra.
"""
