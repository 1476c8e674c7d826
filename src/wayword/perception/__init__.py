"""Perceivers: words and scores from views, recorded, from ground truth, or by networks.

recorded       NavGPT's text pack, REVERIE's boxes, pictures of viewpoints
panorama       views cut from full-sphere pictures
survey         every view of a layout, without duplicate requests
detectors      named objects in a view, simulated or by a network
landmarks      landmarks in view, from files or by a network
similarity     semantic similarity of texts
networks/      the networks, by name
"""
