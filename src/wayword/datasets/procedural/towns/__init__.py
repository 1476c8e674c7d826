"""Street graphs with instructions.

town           streets, panoramas, links, landmarks and traffic lights for one scene name
sight          what can be seen from a panorama: the town's perceiver and landmark scorer
routes         gold paths, and what an instruction must say about each leg

The dataset ``towns`` itself puts routes into words.
"""
