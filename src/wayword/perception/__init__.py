"""Views to words and scores: recorded, from the world's truth, and by networks.

recorded       NavGPT's text pack, REVERIE's boxes, pictures of viewpoints
panorama       views out of whole-sphere pictures
opening        networks by name, one protocol a kind
survey         every view of a layout, nothing asked twice
detectors      named objects in a view, simulated or by a network
landmarks      which landmarks are in view
similarity     how alike two texts are in meaning
networks/      the networks themselves
"""
