"""What runs are worth: metrics, intervals, tables and comparisons.

metric        Metric: a score's name, unit and direction
scorer        the scorer of a family of datasets, found by the family's name
indoor        one family a file: TL, NE, OSR, SR, SPL, nDTW, sDTW, CLS
paths         the path metrics behind it, for whole batches at once
accounting    steps, rejections, calls, tokens, cost and seconds, for every family
intervals     bootstrap intervals and the permutation test
table         a row a run; terminal shows it
compare       two runs, episode by episode
predictions   files of predictions made elsewhere
"""
