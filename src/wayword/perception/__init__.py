"""Views to words and scores: recorded, from the world's truth, and by networks.

recorded       NavGPT's text pack, REVERIE's boxes, pictures of viewpoints
panorama       views out of full-sphere pictures
survey         every view of a layout, nothing asked twice
detectors      named objects in a view, simulated or by a network
landmarks      landmarks in view, from files or by a network
similarity     similarity of texts in meaning
networks/      the networks, by name
"""
