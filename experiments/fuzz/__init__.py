"""Generated calls on pairs of data sets: what is public decides, data never do."""
