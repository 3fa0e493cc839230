"""The tables of the paper, made again."""
