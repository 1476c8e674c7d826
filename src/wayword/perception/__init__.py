"""Perceivers: descriptions and scores of views from files, ground truth or networks.

recorded       NavGPT's text pack, REVERIE's boxes, pictures of viewpoints
panorama       views cut from full-sphere pictures
survey         every view of a layout, each computed once
detectors      objects in a camera view, simulated or by a network
landmarks      landmarks in view, from files or by a network
similarity     semantic similarity of texts
networks/      the networks, by name
"""
