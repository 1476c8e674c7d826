"""Networks of the transformers library and OpenCV; imported where they are used.

network    captions, answers, depth      boxes   detection and grounding
matching   image-text scores, tags, landmark scores
"""
