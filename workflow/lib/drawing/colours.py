"""The colours of figures and pages."""

BLUE, RED, GREY = "#2166AC", "#D6604D", "#808080"

PALETTE = (BLUE, RED, "#E69F00", "#56B4E9", "#882255", "#332288", "#222222", GREY)
"""Colours for up to eight experiments, apart from each other for colour-blind readers too.

The last five were picked to maximise the smallest CIELAB distance between any two of the eight,
with normal sight and with simulated protanopia, deuteranopia and tritanopia.
"""
