"""What runs measured, as data: names and units, tables, statistics and provenance.

`metrics` is the registry of names and units; `rows` makes rows of run records, `schema` columns of a plan; `dataset` is
the folder of a sweep, `provenance` what its parts depend on; `statistics` describes values and `describe` the metrics
of a dataset; `strip` judges a remedy by the four conditions of the ideal strip. Nothing here knows a world or a figure.
"""
