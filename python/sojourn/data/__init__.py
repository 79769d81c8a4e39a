"""What runs measured, as data: names and units, tables, statistics and provenance.

`metrics` is the registry of names and units; `rows` makes tables of run records; `dataset` is the folder of a sweep;
`statistics` describes values and `describe` the metrics of a dataset. Nothing here knows a world or a figure.
"""
